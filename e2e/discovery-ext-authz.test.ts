import { describe, expect, test } from "vitest";
import { startDiscoveryMesh } from "../test/support/discovery/mesh.ts";
import {
  destinationRule,
  documents,
  guardedService,
  hostOf,
  ruleObject,
  serviceEntry,
} from "../test/support/discovery/rules.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { until } from "../test/support/wait/until.ts";

const NEEDS = ["envoy", "root", "netns", "iptables", "setpriv"] as const;
const SERVER = "10.10.2.1";
const AUTHORIZER = "10.10.3.1";
const VIP = "10.96.0.20";
const DENIED = { status: 403, body: "RBAC: access denied" };

const server = guardedService(SERVER, VIP);
const authorizer = serviceEntry({
  name: "authorizer",
  vip: "10.96.0.21",
  ports: [
    { number: 8000, name: "http", protocol: "HTTP", targetPort: 8000 },
    { number: 9000, name: "grpc", protocol: "GRPC", targetPort: 9000 },
    { number: 8001, name: "http-nobody", protocol: "HTTP", targetPort: 8001 },
    { number: 9003, name: "grpc-nobody", protocol: "GRPC", targetPort: 9003 },
  ],
  endpoints: [{ address: AUTHORIZER }],
});
/** A proxy's connection keeps the rules under which it was opened until it drains, so that each request gets its own. */
const unpooled = destinationRule("server", {
  trafficPolicy: { connectionPool: { http: { maxRequestsPerConnection: 1 } } },
});
const service = hostOf("authorizer");
const extensionProviders = [
  {
    name: "over-http",
    envoyExtAuthzHttp: {
      service: `default/${service}`,
      port: 8000,
      timeout: "30s",
      pathPrefix: "/check",
      includeRequestHeadersInCheck: ["x-pass", "x-sent-*"],
      includeAdditionalHeadersInCheck: { "x-sent-always": "yes" },
      headersToUpstreamOnAllow: ["x-decided-by"],
      headersToDownstreamOnDeny: ["x-reason"],
      headersToDownstreamOnAllow: ["x-reason"],
    },
  },
  { name: "over-grpc", envoyExtAuthzGrpc: { service, port: 9000, timeout: "30s" } },
  { name: "gone-http", envoyExtAuthzHttp: { service, port: 8001, timeout: "1s", statusOnError: "503" } },
  { name: "gone-grpc", envoyExtAuthzGrpc: { service, port: 9003, timeout: "1s" } },
  { name: "gone-open", envoyExtAuthzGrpc: { service, port: 9003, timeout: "1s", failOpen: true } },
];
const ask = (provider: string, rules: readonly object[], name = "ask") =>
  ruleObject("security.istio.io/v1", "AuthorizationPolicy", name, {
    selector: { matchLabels: { app: "server" } },
    action: "CUSTOM",
    provider: { name: provider },
    rules,
  });
const ABOUT_ADMIN = [{ to: [{ operation: { paths: ["/admin*"], ports: ["9002"] } }] }];
const ABOUT_ALL = [{}];

/** Envoy tells of a listener a moment before its workers have it. */

const started = sharedPlace(NEEDS, async (opened) => {
  const mesh = opened.add(
    await startDiscoveryMesh({
      files: { "services.yaml": documents(server, authorizer, unpooled) },
      mesh: JSON.stringify({ extensionProviders }),
      workloads: [
        { name: "server", address: SERVER, labels: { app: "server" } },
        { name: "shop", address: "10.10.1.1" },
        { name: "other", address: "10.10.1.2" },
        { name: "authorizer", address: AUTHORIZER, hasSidecar: false },
      ],
    }),
  );
  await mesh.workload("server").listen({ kind: "http", port: 9002, name: "app" });
  await mesh.workload("server").listen({ kind: "tcp", port: 9001, name: "app" });
  await mesh.workload("authorizer").listen({ kind: "authorizer-http", port: 8000, name: "judge" });
  await mesh.workload("authorizer").listen({ kind: "authorizer-grpc", port: 9000, name: "jury" });
  return mesh;
});

/** Puts the policy in force and waits until the server's Envoy has a listener that names its provider. */
async function apply(provider: string, rules: readonly object[]): Promise<void> {
  started().controlPlane.write("policy.yaml", ask(provider, rules));
  await until(async () => {
    const dump = await started().workload("server").admin("/config_dump?resource=dynamic_listeners");
    return dump.includes(`istio-ext-authz-${provider}-ns[`) ? undefined : "the policy has not arrived";
  });
  // What was noted of checks belongs to earlier tests.
  for (const port of [8000, 9000]) await started().workload("authorizer").seen(port, true);
}

async function get(path: string, headers: Readonly<Record<string, string>> = {}) {
  const call = { address: VIP, port: 80, host: hostOf("server"), path, headers, fresh: true };
  const [answer] = await started().workload("shop").http(call);
  return { status: answer?.status, body: answer?.body ?? "", headers: answer?.headers ?? {} };
}

const tcp = (from: string) => started().workload(from).tcp({ address: VIP, port: 9001, send: "hello" });

const NICELY = { "x-pass": "please" };

describe("an authorizer that speaks HTTP", () => {
  test("lets in whom it likes, and tells others why not", async () => {
    await apply("over-http", ABOUT_ADMIN);
    await expect
      .poll(() => get("/admin"))
      .toMatchObject({
        status: 418,
        body: "judge says no",
        headers: { "x-reason": "did not ask nicely" },
      });
    const allowed = await get("/admin", NICELY);
    expect(allowed).toMatchObject({ status: 200, headers: { "x-reason": "asked nicely" } });
    expect(JSON.parse(allowed.body)).toMatchObject({ headers: { "x-decided-by": "judge" } });
  });

  test("sees the headers that it is to see, behind its own path", async () => {
    await started().workload("authorizer").seen(8000, true);
    await get("/admin/x", { ...NICELY, "x-sent-a": "1", "x-other": "2" });
    const [asked = ""] = await started().workload("authorizer").seen(8000);
    expect(asked.split(" ").slice(0, 2)).toEqual(["GET", "/check/admin/x"]);
    expect(asked.split(" ").slice(2).sort()).toEqual(["x-sent-a", "x-sent-always"]);
  });

  test("is not asked about what no policy matches, nor about connections", async () => {
    await started().workload("authorizer").seen(8000, true);
    expect(await get("/public")).toMatchObject({ status: 200 });
    expect(await tcp("shop")).toMatchObject({ received: "app hello" });
    expect(await started().workload("authorizer").seen(8000)).toEqual([]);
  });
});

describe("an authorizer that speaks gRPC", () => {
  test("decides about requests", async () => {
    await apply("over-grpc", ABOUT_ALL);
    await expect
      .poll(() => get("/any"))
      .toMatchObject({
        status: 418,
        body: "jury says no",
        headers: { "x-decided-by": "jury" },
      });
    const allowed = await get("/any", NICELY);
    expect(allowed.status).toBe(200);
    expect(JSON.parse(allowed.body)).toMatchObject({ headers: { "x-decided-by": "jury" } });
    expect(await started().workload("authorizer").seen(9000)).toContain("GET /any");
  });

  test("decides about connections by who makes them", async () => {
    await started().workload("authorizer").seen(9000, true);
    expect(await tcp("shop")).toMatchObject({ received: "app hello" });
    expect(await tcp("other")).toMatchObject({ received: "", closed: true });
    expect(await started().workload("authorizer").seen(9000)).toEqual(["connection", "connection"]);
  });
});

describe("an authorizer that does not answer", () => {
  test.each([
    { provider: "gone-http", status: 503 },
    { provider: "gone-grpc", status: 403 },
  ])("denies everyone: $provider, $status", async ({ provider, status }) => {
    await apply(provider, ABOUT_ADMIN);
    await expect.poll(() => get("/admin", NICELY)).toMatchObject({ status });
    expect(await get("/public")).toMatchObject({ status: 200 });
  });

  test("lets everybody in when it is to fail open", async () => {
    await apply("gone-open", ABOUT_ALL);
    await expect.poll(() => get("/admin")).toMatchObject({ status: 200 });
    expect(await tcp("other")).toMatchObject({ received: "app hello" });
  });
});

test("of several providers of one workload each is asked about what its own policies match, and all have to agree", async () => {
  const about = (provider: string, path: string) =>
    ask(provider, [{ to: [{ operation: { paths: [path], ports: ["9002"] } }] }], `ask-${provider}`);
  await apply("over-http", ABOUT_ADMIN);
  started().controlPlane.write("policy.yaml", documents(about("over-http", "/both*"), about("over-grpc", "/*")));
  await until("both are in force", async () => {
    const dump = await started().workload("server").admin("/config_dump?resource=dynamic_listeners");
    return ["over-http", "over-grpc"].every((provider) => dump.includes(`istio-ext-authz-${provider}-ns[`));
  });
  const asked = async (port: number) => (await started().workload("authorizer").seen(port, true)).length;
  // Only the new rules ask about this path; Envoy tells of a listener a moment before its worker has it.
  await expect.poll(() => get("/one")).toMatchObject({ status: 418 });
  await Promise.all([asked(8000), asked(9000)]);
  expect(await get("/both", NICELY)).toMatchObject({ status: 200 });
  expect([await asked(8000), await asked(9000)]).toEqual([1, 1]);
  expect(await get("/one", NICELY)).toMatchObject({ status: 200 });
  expect([await asked(8000), await asked(9000)]).toEqual([0, 1]);
  expect(await get("/one")).toMatchObject({ status: 418, body: "jury says no" });
});

test("a provider that the mesh does not have denies everyone", async () => {
  await apply("nobody", ABOUT_ADMIN);
  await expect
    .poll(async () => (({ status, body }) => ({ status, body }))(await get("/admin", NICELY)))
    .toEqual(DENIED);
});

test("no Envoy refused anything", async () => {
  expect(await started().rejections()).toEqual([]);
  for (const name of ["server", "shop", "other"]) expect(await started().workload(name).rejections(), name).toEqual([]);
});
