import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { beforeEach, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { createTestCa } from "../support/certs/test-ca.ts";
import { tlsGateway, tlsSecret } from "../support/discovery/gateway.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { runGatewayOf } from "../support/envoy/gateway-envoy.ts";
import { runHttp3Client } from "../support/envoy/http3-client.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { needs } from "../support/needs.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { startAnySecrets } from "../support/sds/any-secrets.ts";
import { until } from "../support/wait/until.ts";

beforeEach(needs("envoy"));

async function answerOf(outgoing: ReturnType<typeof httpRequest>): Promise<IncomingMessage> {
  outgoing.end();
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  answer.resume();
  await once(answer, "end");
  return answer;
}

/** Where the client's HTTP/3 ends, and a gateway with one host under each mode of TLS. */
async function openGateway(quicListeners: boolean) {
  await using opened = new CloseStack();
  const ca = await createTestCa();
  const [port = 0, clientPort = 0] = await freePorts(2);
  const gateway = tlsGateway("edge", port, { "a.example": "a", "m.example": "m" });
  const mutual = gateway.spec.servers[1];
  if (mutual !== undefined) mutual.tls.mode = "MUTUAL";
  const rule = {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "answer", namespace: "edge" },
    spec: { hosts: ["*"], gateways: ["gateway"], http: [{ directResponse: { status: 200 } }] },
  };
  const [a, m] = [await ca.pair(["a.example"]), await ca.pair(["m.example"])];
  const withRoots = { ...tlsSecret("edge", "m", m), stringData: { "ca.crt": ca.rootPem } };
  const files = {
    "rules.yaml": [gateway, rule, tlsSecret("edge", "a", a), withRoots]
      .map((one) => JSON.stringify(one))
      .join("\n---\n"),
  };
  const server = opened.add(await startDiscoveryServer({ files, quicListeners }));
  const folder = temporaryFolder();
  opened.defer(() => folder[Symbol.dispose]());
  opened.add(await startAnySecrets(folder.file("sds")));
  const envoy = opened.add(
    await runGatewayOf(server, {
      sdsPath: folder.file("sds"),
      namespace: "edge",
      protocol: "delta",
    }),
  );
  const client = opened.add(
    await runHttp3Client({ port: clientPort, to: port, serverName: "a.example", rootPem: ca.rootPem }),
  );
  const https = (host: string) =>
    answerOf(
      httpsRequest({
        ...{ host: "127.0.0.1", port, servername: host, headers: { host }, ca: ca.rootPem, agent: false },
        ...(host === "m.example" && { cert: a.cert, key: a.key }),
      }),
    );
  const http3 = (host: string) =>
    answerOf(httpRequest({ host: "127.0.0.1", port: clientPort, headers: { host }, agent: false }));
  await until("the gateway answers over TCP", async () => (await https("a.example")).statusCode === 200);
  const owned = opened.move();
  return { port, envoy, client, https, http3, [Symbol.asyncDispose]: () => owned.close() };
}

test("a gateway offers HTTP/3 beside HTTPS, and a client that comes over QUIC is answered by the same rules", async () => {
  await using gateway = await openGateway(true);
  const { port, envoy, client } = gateway;
  expect((await gateway.https("a.example")).headers["alt-svc"]).toBe(`h3=":${port}"; ma=86400`);
  await until("an answer over HTTP/3", async () => (await gateway.http3("a.example")).statusCode === 200);
  expect(await client.stat("cluster.http3.upstream_cx_http3_total")).toBeGreaterThan(0);
  expect(await envoy.stat("downstream_cx_http3_total")).toBeGreaterThan(0);
  // Envoy asks for client certificates over TCP alone.
  expect((await gateway.https("m.example")).headers["alt-svc"]).toBeUndefined();
  expect(await envoy.rejections()).toEqual([]);
});

test("without the setting there is neither an offer nor anything on UDP", async () => {
  await using gateway = await openGateway(false);
  expect((await gateway.https("a.example")).headers["alt-svc"]).toBeUndefined();
  expect((await gateway.envoy.activeNames()).listeners.filter((name) => name.startsWith("udp_"))).toEqual([]);
});
