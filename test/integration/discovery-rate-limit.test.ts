import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { runGatewayOf } from "../support/envoy/gateway-envoy.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { startRateLimitService } from "../support/grpc/rate-limit-service.ts";
import { needs } from "../support/needs.ts";
import { fetchAnswer } from "../support/net/fetch-answer.ts";
import { freePorts } from "../support/net/free-ports.ts";
import { startHttpServer } from "../support/net/http-server.ts";
import { startAnySecrets } from "../support/sds/any-secrets.ts";
import { until } from "../support/wait/until.ts";

beforeEach(needs("envoy"));

const SAMPLE = readFileSync(join(import.meta.dirname, "../../deploy/samples/rate-limit-global.yaml"), "utf8");

const object = (kind: string, namespace: string, name: string, spec: object) =>
  JSON.stringify({ apiVersion: "networking.istio.io/v1", kind, metadata: { name, namespace }, spec });

const service = (name: string, number: number, protocol: string, port: number) =>
  object("ServiceEntry", "default", name, {
    hosts: [`${name}.default.svc.cluster.local`],
    location: "MESH_INTERNAL",
    resolution: "STATIC",
    ports: [{ number, name: "main", protocol }],
    endpoints: [{ address: "127.0.0.1", ports: { main: port } }],
  });

/** A gateway in front of one service, and the service that the sample asks. Envoy asks about requests that are routed alone. */
const rules = (port: number, ports: { readonly web: number; readonly limits: number }) =>
  [
    object("Gateway", "istio-system", "edge", {
      selector: { istio: "ingressgateway" },
      servers: [{ port: { number: port, name: "http", protocol: "HTTP" }, bind: "127.0.0.1", hosts: ["*"] }],
    }),
    object("VirtualService", "istio-system", "answer", {
      hosts: ["*"],
      gateways: ["edge"],
      http: [{ route: [{ destination: { host: "web.default.svc.cluster.local" } }] }],
    }),
    service("web", 80, "HTTP", ports.web),
    service("ratelimit", 8081, "GRPC", ports.limits),
  ].join("\n---\n");

test("the sample of a global rate limit: the service decides by path, and while it is away the failure mode does", async () => {
  await using limits = await startRateLimitService({ "PATH=/limited": 2 });
  await using web = await startHttpServer((_, response) => response.end("web"));
  const [port = 0] = await freePorts(1);
  await using server = await startDiscoveryServer({
    files: { "rules.yaml": rules(port, { web: web.port, limits: limits.port }), "limit.yaml": SAMPLE },
  });
  using folder = temporaryFolder();
  await using _agent = await startAnySecrets(folder.file("sds"));
  await using envoy = await runGatewayOf(server, {
    sdsPath: folder.file("sds"),
    namespace: "istio-system",
    protocol: "delta",
    labels: { istio: "ingressgateway" },
  });
  const status = async (path: string) => (await fetchAnswer(`http://127.0.0.1:${port}${path}`)).status;
  await until("the service is asked", async () => {
    expect(await status("/free")).toBe(200);
    expect(limits.asked).toContain("edge PATH=/free");
  });
  expect([await status("/limited"), await status("/limited"), await status("/limited")]).toEqual([200, 200, 429]);
  expect(await status("/free")).toBe(200);
  await limits[Symbol.asyncDispose]();
  expect(await status("/free")).toBe(500);
  server.write("limit.yaml", SAMPLE.replace("failure_mode_deny: true", "failure_mode_deny: false"));
  await until("requests pass without the service", async () => (await status("/limited")) === 200);
  expect(await envoy.rejections()).toEqual([]);
});
