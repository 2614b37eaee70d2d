import { expect, test } from "vitest";
import { createTestCa } from "../test/support/certs/test-ca.ts";
import { startDiscoveryMesh } from "../test/support/discovery/mesh.ts";
import { documents, ruleObject } from "../test/support/discovery/rules.ts";
import type { Echo, HttpRequest } from "../test/support/discovery/workload.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { until } from "../test/support/wait/until.ts";

const NEEDS = ["envoy", "root", "netns", "iptables", "setpriv"] as const;
const ONE = "10.10.2.1";
const TWO = "10.10.2.2";
/** No one's: only the name that is called says where to go. */
const NOWHERE = "10.96.7.7";

const PORTS = [
  { number: 8080, name: "http", protocol: "HTTP" },
  { number: 8082, name: "http2", protocol: "HTTP2" },
  { number: 8443, name: "tls", protocol: "TLS" },
];
const wildcard = (name: string) =>
  ruleObject("networking.istio.io/v1", "ServiceEntry", name, {
    hosts: [`*.${name}.test`],
    location: "MESH_EXTERNAL",
    resolution: "DYNAMIC_DNS",
    ports: PORTS,
  });
const rule = (tcp: object) =>
  ruleObject("networking.istio.io/v1", "DestinationRule", "wild", {
    host: "*.wild.test",
    trafficPolicy: { connectionPool: { tcp }, outlierDetection: { consecutive5xxErrors: 50 } },
  });

const started = sharedPlace(
  NEEDS,
  async (opened) => {
    const mesh = opened.add(
      await startDiscoveryMesh({
        files: { "services.yaml": documents(wildcard("wild"), wildcard("other"), rule({ connectTimeout: "3s" })) },
        mesh: "outboundTrafficPolicy: {mode: REGISTRY_ONLY}\n",
        names: `${ONE} one.wild.test\n${TWO} two.wild.test two.other.test two.elsewhere.test\n`,
        workloads: [
          { name: "client", address: "10.10.1.1" },
          { name: "one", address: ONE, hasSidecar: false },
          { name: "two", address: TWO, hasSidecar: false },
        ],
      }),
    );
    const tls = await (await createTestCa()).pair(["*.wild.test"]);
    for (const name of ["one", "two"]) {
      const server = mesh.workload(name);
      await server.listen({ kind: "http", port: 8080, name });
      // A port that no service has.
      await server.listen({ kind: "http", port: 9080, name });
      await server.listen({ kind: "http2", port: 8082, name });
      await server.listen({ kind: "https", port: 8443, name, tls });
    }
    return mesh;
  },
  async () => {
    await until(async () => {
      const { status, body } = await call("one.wild.test", 8080);
      return status === 200 ? undefined : `${status} ${body}`;
    });
  },
);

/** As an application would that resolved the name to an address that the sidecar does not look at. */
async function call(name: string, port: number, more: Partial<HttpRequest> = {}) {
  const request = { address: NOWHERE, port, host: `${name}:${port}`, ...more };
  const [answer] = await started().workload("client").http(request);
  return answer ?? { status: 0, body: "" };
}

const answeredBy = (body: string) => (JSON.parse(body) as Echo).name;

test.each([
  { name: "one.wild.test", by: "one" },
  { name: "two.wild.test", by: "two" },
  { name: "two.other.test", by: "two" },
])("$name is looked up and answered by $by, also where two wildcards share a port", async ({ name, by }) => {
  for (const request of [
    { port: 8080 },
    { port: 8082, version: 2 as const },
    { port: 8443, tls: { servername: name } },
  ]) {
    const { port, ...more } = request;
    const { status, body } = await call(name, port, more);
    expect(status, body).toBe(200);
    expect(answeredBy(body)).toBe(by);
  }
});

test("a name that no one has is refused, and one of no service is not let out", async () => {
  expect((await call("gone.wild.test", 8080)).status).toBe(503);
  expect((await call("one.elsewhere.test", 8080)).status).toBe(502);
});

test("rules for the wildcard count, and stock Envoy refuses nothing of it", async () => {
  const config = JSON.parse(await started().workload("client").admin("/config_dump?resource=dynamic_active_clusters"));
  const clusters = (config.configs as readonly { cluster: Record<string, unknown> }[]).map(({ cluster }) => cluster);
  const wild = clusters.find(({ name }) => name === "outbound|8080||*.wild.test");
  expect(wild).toMatchObject({ connect_timeout: "3s", outlier_detection: { consecutive_5xx: 50 } });
  expect(await started().workload("client").rejections()).toEqual([]);
});

test("ALLOW_ANY_DYNAMIC_DNS looks up hosts of no service too, with TLS where it says so; bytes go where they were going", async () => {
  const { controlPlane, workload } = started();
  controlPlane.writeMesh("outboundTrafficPolicy: {mode: ALLOW_ANY_DYNAMIC_DNS}\n");
  await until(async () => {
    const { status, body } = await call("two.elsewhere.test", 8080);
    return status === 200 && answeredBy(body) === "two" ? undefined : `${status} ${body}`;
  });
  const elsewhere = await call("two.elsewhere.test", 9080);
  expect([elsewhere.status, answeredBy(elsewhere.body)]).toEqual([200, "two"]);
  const own = await workload("client").http({
    address: ONE,
    port: 8443,
    host: "x",
    tls: { servername: "x.none.test" },
  });
  expect(answeredBy(own[0]?.body ?? "{}")).toBe("one");
  controlPlane.writeMesh(
    "outboundTrafficPolicy: {mode: ALLOW_ANY_DYNAMIC_DNS, tls: {mode: SIMPLE, insecureSkipVerify: true}}\n",
  );
  // The server speaks plain HTTP: whoever calls it with TLS gets nothing.
  await until(async () => {
    const { status } = await call("two.elsewhere.test", 8080);
    return status === 503 ? undefined : `${status}`;
  });
  expect(await workload("client").rejections()).toEqual([]);
});
