import { beforeEach, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { runGatewayOf } from "../support/envoy/gateway-envoy.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { needs } from "../support/needs.ts";
import { fetchOk } from "../support/net/fetch-answer.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { startHttpServer } from "../support/net/http-server.ts";
import { startAnySecrets } from "../support/sds/any-secrets.ts";
import { until } from "../support/wait/until.ts";

beforeEach(needs("envoy"));

const object = (kind: string, name: string, spec: object, labels: object = {}) =>
  JSON.stringify({
    apiVersion: "networking.istio.io/v1",
    kind,
    metadata: { name, namespace: "istio-system", labels },
    spec,
  });

/** Two services of the same endpoints: one knows its clients by a cookie, one by a header. */
const rules = (port: number, ports: readonly number[]) => {
  const service = (name: string, labels: object) =>
    object(
      "ServiceEntry",
      name,
      {
        hosts: [`${name}.example`],
        location: "MESH_INTERNAL",
        resolution: "STATIC",
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        endpoints: ports.map((own) => ({ address: "127.0.0.1", ports: { http: own } })),
      },
      labels,
    );
  const to = (name: string) => ({
    match: [{ uri: { prefix: `/${name}` } }],
    route: [{ destination: { host: `${name}.example` } }],
  });
  return [
    object("Gateway", "edge", {
      selector: { istio: "gateway" },
      servers: [{ port: { number: port, name: "http", protocol: "HTTP" }, bind: "127.0.0.1", hosts: ["*"] }],
    }),
    object("VirtualService", "answer", { hosts: ["*"], gateways: ["edge"], http: [to("cookie"), to("header")] }),
    service("cookie", { "istio.io/persistent-session": "who:/cookie" }),
    service("header", { "istio.io/persistent-session-header": "x-who" }),
  ].join("\n---\n");
};

test("a client that shows its cookie or header again comes to the endpoint that it was at", async () => {
  await using opened = new CloseStack();
  const servers = [];
  for (const name of ["a", "b", "c", "d"])
    servers.push(opened.add(await startHttpServer((_, response) => response.end(name))));
  const [port = 0] = await freePorts(1);
  const files = {
    "rules.yaml": rules(
      port,
      servers.map((server) => server.port),
    ),
  };
  await using server = await startDiscoveryServer({ files, persistentSessions: true });
  using folder = temporaryFolder();
  await using _agent = await startAnySecrets(folder.file("sds"));
  await using envoy = await runGatewayOf(server, {
    sdsPath: folder.file("sds"),
    namespace: "istio-system",
    protocol: "delta",
  });
  const ask = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
    return { by: await answer.text(), headers: answer.headers };
  };
  await until("the gateway answers", async () => (await fetchOk(`http://127.0.0.1:${port}/cookie`)) !== "");
  const repeated = async (path: string, headers: Readonly<Record<string, string>>) =>
    new Set(await Promise.all(Array.from({ length: 20 }, async () => (await ask(path, headers)).by)));
  expect((await repeated("/cookie", {})).size).toBeGreaterThan(1);
  const first = await ask("/cookie");
  const cookie = first.headers.get("set-cookie") ?? "";
  expect(cookie).toMatch(/^who="?[^;]+; Path=\/cookie/);
  expect(await repeated("/cookie", { cookie: cookie.split(";")[0] ?? "" })).toEqual(new Set([first.by]));
  const other = await ask("/header");
  const who = other.headers.get("x-who") ?? "";
  expect(await repeated("/header", { "x-who": who })).toEqual(new Set([other.by]));
  expect(await envoy.rejections()).toEqual([]);
});
