import { rmSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { startDiscoveryConsole } from "../../src/discovery/console/start-discovery-console.ts";
import { openConsole } from "../support/console/console-client.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { startHttpServer } from "../support/net/http-server.ts";
import { until } from "../support/wait/until.ts";
import { openSotw, testNode, URLS } from "../support/xds/ads-client.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const HOST = "reviews.shop.svc.cluster.local";
const ENTRY = `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: reviews, namespace: shop}
spec:
  hosts: [${HOST}]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{number: 80, name: http, protocol: HTTP}]
  endpoints: [{address: 10.10.0.12, labels: {app: reviews, version: v1}}]
`;

test("a control plane's console has its proxies' figures by their status ports, and writes rules as the config API does", async () => {
  const server = opened.add(await startDiscoveryServer({ files: { "entry.yaml": ENTRY } }));
  let requests = 0;
  const agent = await startHttpServer((request, response) => {
    requests += 10;
    const cluster = `cluster_name="outbound|80||${HOST}"`;
    response.end(
      request.url === "/stats/prometheus"
        ? `envoy_cluster_upstream_rq_completed{${cluster}} ${requests}\nenvoy_cluster_upstream_cx_total{${cluster}} 1\n`
        : "",
    );
  });
  opened.defer(async () => agent[Symbol.asyncDispose]());
  const stream = opened.add(openSotw({ port: server.ports.grpc }));
  const metadata = {
    NAMESPACE: "shop",
    INSTANCE_IPS: "127.0.0.1",
    LABELS: { app: "front" },
    PROXY_CONFIG: { statusPort: agent.port },
  };
  const node = testNode({ id: "sidecar~127.0.0.1~front-1.shop~shop.svc.cluster.local", metadata });
  stream.send({ node, typeUrl: URLS.CDS });
  await stream.next();

  const listen = { host: "127.0.0.1", port: 0 };
  const { discovery, log } = server;
  const console = opened.add(await startDiscoveryConsole({ discovery, listen, systemNamespace: "shop", log }));
  const line = log.lines.find(({ message }) => message === "the console is served");
  opened.defer(async () => rmSync(String(line?.fields.linkWithToken)));
  expect(log.text()).not.toContain(new URL(console.link).searchParams.get("token"));

  const client = await openConsole(console.link);
  expect((await client.get("/api/session")).body).toMatchObject({
    scope: "control-plane",
    features: { logs: false, editing: true },
  });
  const looking = new AbortController();
  opened.defer(async () => looking.abort());
  const events = await client.follow("/api/events", looking.signal);
  await until("the call is an edge", () => {
    const graph = events.findLast(({ event }) => event === "graph")?.data;
    return graph?.edges.some(
      ({ from, to, rps }: { from: string; to: string; rps: number }) =>
        from === "workload:shop/front-1" && to === `service:${HOST}` && rps > 0,
    );
  });

  const action = { kind: "timeout", service: "reviews", timeoutMs: 2000 };
  const applied = await client.post("/api/actions", { action });
  expect(applied.status).toBe(201);
  await until(
    "the rule is in force",
    () => discovery.snapshot.configs.get("VirtualService", "shop", "reviews") !== undefined,
  );
  await client.post(`/api/actions/${applied.body.id}/undo`, {});
  await until("and gone", () => discovery.snapshot.configs.get("VirtualService", "shop", "reviews") === undefined);
  const refused = await client.post("/api/objects", { yaml: ENTRY.replace("10.10.0.12", "10.10.0.13") });
  expect(refused).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining("comes from a file or a cluster") },
  });
});
