import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createTestMesh, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { decodeMessage } from "../../protobuf/envoy/index.ts";
import { any } from "../../protobuf/wire/discovery.ts";
import { createResourceSource } from "../create-resource-source.ts";

const samples = join(import.meta.dirname, "../../../deploy/samples");
const edge = JSON.stringify({
  apiVersion: "networking.istio.io/v1",
  kind: "Gateway",
  metadata: { name: "edge", namespace: "istio-system" },
  spec: { selector: {}, servers: [{ port: { number: 8080, name: "http", protocol: "HTTP" }, hosts: ["*"] }] },
});
const rule = JSON.stringify({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: "web", namespace: "istio-system" },
  spec: { hosts: ["web.example"], gateways: ["edge"], http: [{ directResponse: { status: 200 } }] },
});

test("the sample of a global rate limit asks its service before requests are routed, by their path", () => {
  const sample = readFileSync(join(samples, "rate-limit-global.yaml"), "utf8");
  const { snapshot } = createTestMesh([edge, rule, sample].join("\n---\n")).take();
  const labels = { istio: "ingressgateway" };
  const view = snapshot.view(testNode({ type: "router", namespace: "istio-system", labels }));
  const problems: string[] = [];
  const source = createResourceSource({ onProblem: ({ reason }) => problems.push(reason) });
  const text = (
    type: "LDS" | "RDS",
    message: "envoy.config.listener.v3.Listener" | "envoy.config.route.v3.RouteConfiguration",
  ) =>
    (type === "LDS" ? source.all(view, type) : source.named(view, type, ["http.8080"])).resources
      .map((resource) => JSON.stringify(decodeMessage(message, Buffer.from(any.decode(resource.any).value))))
      .join("\n");
  const listeners = text("LDS", "envoy.config.listener.v3.Listener");
  expect(listeners.indexOf('"envoy.filters.http.ratelimit"')).toBeGreaterThan(0);
  expect(listeners.indexOf('"envoy.filters.http.ratelimit"')).toBeLessThan(
    listeners.indexOf('"envoy.filters.http.router"'),
  );
  expect(listeners).toContain('"clusterName":"outbound|8081||ratelimit.default.svc.cluster.local"');
  const routes = text("RDS", "envoy.config.route.v3.RouteConfiguration");
  expect(routes).toContain(
    '"rateLimits":[{"actions":[{"requestHeaders":{"headerName":":path","descriptorKey":"PATH"}}]}]',
  );
  expect(problems).toEqual([]);
});
