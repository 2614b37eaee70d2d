import { expect, test } from "vitest";
import { SECRET_TYPE } from "../../src/xds/type-urls.ts";
import { createTestCa } from "../support/certs/test-ca.ts";
import { certificatesOf, gatewayNode, tlsGateway, tlsSecret } from "../support/discovery/gateway.ts";
import type { DiscoveryServer } from "../support/discovery/server.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { until } from "../support/wait/until.ts";
import { openDelta, openSotw, testNode } from "../support/xds/ads-client.ts";

const GATEWAY = { namespace: "edge", name: "gateway" };

async function openGateway(server: DiscoveryServer, account = GATEWAY) {
  const token = await server.discovery.issueToken(account, 60);
  return openSotw({ port: server.ports.secureGrpc, token, tls: { ca: server.discovery.rootPem } });
}

const yaml = (...objects: readonly object[]) => objects.map((object) => JSON.stringify(object)).join("\n---\n");

test("a Secret of the rule folder reaches the gateways of its namespace, changes with the file and stays when it breaks", async () => {
  const ca = await createTestCa();
  const [first, second] = [await ca.pair(["a.example"]), await ca.pair(["a.example"])];
  await using server = await startDiscoveryServer({
    files: { "gateway.yaml": yaml(tlsGateway("edge", 8443, { "a.example": "a" }), tlsSecret("edge", "a", first)) },
  });
  await using stream = await openGateway(server);
  const names = ["kubernetes://a", "kubernetes://late"];
  stream.send({ node: gatewayNode("edge"), typeUrl: SECRET_TYPE, resourceNames: names });
  expect(certificatesOf(await stream.next())).toEqual({ "kubernetes://a": first.cert });
  expect(server.log.text()).toContain("there is no Secret edge/late");
  const status = async () => (await server.get("/debug/push_status")).text();
  expect(await status()).toContain("kubernetes://late for namespace edge: there is no Secret edge/late");
  server.write("late.yaml", yaml(tlsSecret("edge", "late", first)));
  expect(certificatesOf(await stream.next())).toEqual({ "kubernetes://late": first.cert });
  expect(await status()).not.toContain("kubernetes://late");
  server.write("gateway.yaml", yaml(tlsGateway("edge", 8443, { "a.example": "a" }), tlsSecret("edge", "a", second)));
  expect(certificatesOf(await stream.next())).toEqual({ "kubernetes://a": second.cert });
  server.write("late.yaml", yaml(tlsSecret("edge", "late", { cert: second.cert, key: first.key })));
  await until(() => expect(server.log.text()).toContain("not the private key of the first certificate"));
  expect(stream.responses).toHaveLength(3);
});

test("only a proven gateway of the namespace gets a Secret; the log says why others do not", async () => {
  const ca = await createTestCa();
  const pair = await ca.pair(["a.example"]);
  await using server = await startDiscoveryServer({ files: { "a.yaml": yaml(tlsSecret("edge", "a", pair)) } });
  const { rootPem } = server.discovery;
  const ask = async (
    node: ReturnType<typeof testNode>,
    token: string | undefined,
    resource: string,
    reason: string,
  ) => {
    const port = token === undefined ? server.ports.grpc : server.ports.secureGrpc;
    await using stream = openSotw({ port, ...(token !== undefined && { token, tls: { ca: rootPem } }) });
    stream.send({ node, typeUrl: SECRET_TYPE, resourceNames: [resource] });
    await until(() => expect(server.log.text()).toContain(reason));
    expect(stream.responses).toEqual([]);
  };
  const token = (namespace: string, name: string) => server.discovery.issueToken({ namespace, name }, 60);
  await ask(gatewayNode("edge"), undefined, "kubernetes://a", "the proxy has no proven identity");
  const other = await token("other", "gateway");
  await ask(
    gatewayNode("other"),
    other,
    "kubernetes://edge/a",
    "a proxy of namespace other gets no Secret of namespace edge",
  );
  await ask(gatewayNode("other"), other, "kubernetes://a", "there is no Secret other/a");
  const sidecar = testNode({ metadata: { NAMESPACE: "edge", SERVICE_ACCOUNT: "web", INSTANCE_IPS: "10.0.0.1" } });
  await ask(sidecar, await token("edge", "web"), "kubernetes://a", "only gateways (router) get Secrets");
  await ask(gatewayNode("edge"), await token("edge", "gateway"), "vault://a", "has no known scheme");
});

test("over delta a gateway that comes back with what it has is sent nothing again", async () => {
  const ca = await createTestCa();
  const pair = await ca.pair(["a.example"]);
  await using server = await startDiscoveryServer({ files: { "a.yaml": yaml(tlsSecret("edge", "a", pair)) } });
  const options = {
    port: server.ports.secureGrpc,
    token: await server.discovery.issueToken(GATEWAY, 60),
    tls: { ca: server.discovery.rootPem },
  };
  const request = { node: gatewayNode("edge"), typeUrl: SECRET_TYPE, resourceNamesSubscribe: ["kubernetes://a"] };
  const first = openDelta(options);
  first.send(request);
  const { resources } = await first.next();
  await first[Symbol.asyncDispose]();
  const version = resources[0]?.version ?? "";
  await using again = openDelta(options);
  again.send({ ...request, initialResourceVersions: new Map([["kubernetes://a", version]]) });
  again.send({ typeUrl: SECRET_TYPE, resourceNamesSubscribe: ["kubernetes://a-cacert"] });
  await until(() => expect(server.log.text()).toContain("expected cacert, or ca.crt; found tls.crt, tls.key"));
  expect(again.responses).toEqual([]);
});

test("a Secret of the config API is taken and never shown, nor on debug pages, in the log or in metrics", async () => {
  const ca = await createTestCa();
  const pair = await ca.pair(["a.example"]);
  const secret = tlsSecret("edge", "a", pair);
  await using server = await startDiscoveryServer({ files: { "b.yaml": yaml(tlsSecret("edge", "b", pair)) } });
  const put = (name: string, object: object) =>
    server.get(`/config/Secret/edge/${name}`, { method: "PUT", body: JSON.stringify(object) });
  expect((await put("a", secret)).status).toBe(201);
  expect((await put("b", tlsSecret("edge", "b", pair))).status).toBe(409);
  const refused = await put("a", { ...secret, data: { "tls.key": "!s3cret!" } });
  expect([refused.status, await refused.text()]).toEqual([
    422,
    expect.stringContaining(`data["tls.key"]: expected base64`),
  ]);
  await using stream = await openGateway(server);
  const names = ["kubernetes://a", "kubernetes://b"];
  stream.send({ node: gatewayNode("edge"), typeUrl: SECRET_TYPE, resourceNames: names });
  expect(Object.keys(certificatesOf(await stream.next()))).toEqual(names);
  const paths = [
    "/config",
    "/config/Secret/edge/a",
    "/config?kind=Secret",
    "/debug/configz",
    "/debug/adsz",
    "/metrics",
  ];
  const dumps = ["", "&types=SDS"].map((more) => `/debug/config_dump?proxyID=gateway-1.edge${more}`);
  const texts = await Promise.all([...paths, ...dumps].map(async (path) => (await server.get(path)).text()));
  const shown = [...texts, server.log.text()].join("\n");
  expect(JSON.parse(texts[2] ?? "")).toMatchObject({
    items: [{ data: { "tls.key": "[redacted]" } }, { origin: "file" }],
  });
  for (const form of [pair.key, Buffer.from(pair.key).toString("base64"), "s3cret"]) expect(shown).not.toContain(form);
  const { body } = pemLines(pair.key);
  for (const line of body) expect(shown).not.toContain(line);
  expect((await server.get("/config/Secret/edge/a", { method: "DELETE" })).status).toBe(204);
  expect((await server.get("/config/Secret/edge/a")).status).toBe(404);
});

function pemLines(pem: string) {
  return { body: pem.split("\n").filter((line) => line !== "" && !line.startsWith("-----")) };
}
