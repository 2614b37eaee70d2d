import { describe, expect, test } from "vitest";
import { startDiscoveryMesh } from "../test/support/discovery/mesh.ts";
import {
  destinationRule,
  documents,
  hostOf,
  serviceEntry,
  toSubset,
  VERSIONS,
  virtualService,
} from "../test/support/discovery/rules.ts";
import type { Echo, HttpRequest, HttpResult } from "../test/support/discovery/workload.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { until } from "../test/support/wait/until.ts";

const NEEDS = ["envoy", "root", "netns", "iptables", "setpriv"] as const;
const VIP = "10.96.0.10";
const SHADOW_VIP = "10.96.0.11";
const PATCHY_VIP = "10.96.0.12";
const PORTS = [
  { number: 80, name: "http", protocol: "HTTP", targetPort: 8080 },
  { number: 82, name: "http2", protocol: "HTTP2", targetPort: 8082 },
  { number: 83, name: "grpc", protocol: "GRPC", targetPort: 8083 },
  { number: 84, name: "tcp", protocol: "TCP", targetPort: 8084 },
  { number: 85, name: "any", targetPort: 8085 },
];
const SERVERS = [
  { name: "v1", address: "10.10.2.1" },
  { name: "v2", address: "10.10.2.2" },
];
const NOBODY = "10.10.9.9";

const services = documents(
  serviceEntry({
    name: "web",
    vip: VIP,
    ports: PORTS,
    endpoints: SERVERS.map(({ name, address }) => ({ address, serviceAccount: name, labels: { version: name } })),
  }),
  serviceEntry({
    name: "shadow",
    vip: SHADOW_VIP,
    ports: PORTS.slice(0, 1),
    endpoints: [{ address: "10.10.2.3", serviceAccount: "shadow" }],
  }),
  // One of its endpoints refuses connections: there is neither a sidecar nor an application.
  serviceEntry({
    name: "patchy",
    vip: PATCHY_VIP,
    ports: PORTS.slice(0, 1),
    endpoints: [{ address: "10.10.2.1", serviceAccount: "v1" }, { address: NOBODY }],
  }),
  destinationRule("web", VERSIONS),
);

const started = sharedPlace(
  NEEDS,
  async (opened) => {
    const mesh = opened.add(
      await startDiscoveryMesh({
        files: { "services.yaml": services },
        mesh: "accessLogFile: /dev/stdout\n",
        workloads: [
          { name: "client", address: "10.10.1.1" },
          ...SERVERS.map((server) => ({ ...server, labels: { version: server.name } })),
          { name: "shadow", address: "10.10.2.3" },
          { name: "nobody", address: NOBODY, hasSidecar: false },
        ],
      }),
    );
    for (const name of ["v1", "v2", "shadow"]) {
      const server = mesh.workload(name);
      await server.listen({ kind: "http", port: 8080, name });
      await server.listen({ kind: "http2", port: 8082, name });
      await server.listen({ kind: "grpc", port: 8083, name });
      await server.listen({ kind: "tcp", port: 8084, name });
      await server.listen({ kind: "http", port: 8085, name });
    }
    return mesh;
  },
  async () => {
    // Captured traffic reaches the application only once everything has arrived at both ends.
    await until(async () => {
      const [answer] = await call({ port: 80 });
      return answer?.status === 200 ? undefined : `${answer?.status} ${answer?.body}${answer?.error ?? ""}`;
    });
  },
);

function call(request: Partial<HttpRequest> & { readonly port: number }): Promise<readonly HttpResult[]> {
  return started()
    .workload("client")
    .http({ address: VIP, host: hostOf("web"), ...request });
}

const echoOf = (result: HttpResult | undefined) => JSON.parse(result?.body ?? "{}") as Echo;
const namesOf = (results: readonly HttpResult[]) => [...new Set(results.map((result) => echoOf(result).name))].sort();
const countStatus = (results: readonly HttpResult[], status: number) =>
  results.filter((result) => result.status === status).length;

let rules = 0;

/** Puts rules in force and waits until the client's Envoy has them: the first route, or a subset, carries a name of its own. */
async function apply(http: readonly object[], ...more: readonly string[]): Promise<void> {
  rules += 1;
  const marker = `rule-${rules}`;
  const [first, ...others] = http;
  started().controlPlane.write(
    "rule.yaml",
    documents(virtualService("web", [{ ...first, name: marker }, ...others]), ...more),
  );
  await until(async () => {
    const routes = await started().workload("client").admin("/config_dump?resource=dynamic_route_configs");
    return routes.includes(`"${marker}"`) ? undefined : `${marker} has not arrived`;
  });
}

const everything = (more: object = {}) => ({ route: [toSubset("web", "v1")], ...more });

/** The distance that one run in four hundred exceeds by chance. */
/** Three would be exceeded by chance once in 370 runs, four once in 16,000. */
const fourSigma = (count: number, share: number) => 4 * Math.sqrt(count * share * (1 - share));

describe("protocols, balanced over two endpoints", () => {
  test("HTTP/1.1, with the caller's identity reported by the server's sidecar", async () => {
    const results = await call({ port: 80, count: 60, concurrency: 4 });
    expect(countStatus(results, 200)).toBe(60);
    expect(namesOf(results)).toEqual(["v1", "v2"]);
    const { headers, protocol } = echoOf(results[0]);
    expect(protocol).toBe("HTTP/1.1");
    expect(headers["x-forwarded-client-cert"]).toContain("URI=spiffe://cluster.local/ns/default/sa/client");
  });

  test("HTTP/2", async () => {
    const results = await call({ port: 82, version: 2, count: 60, concurrency: 4 });
    expect(countStatus(results, 200)).toBe(60);
    expect(namesOf(results)).toEqual(["v1", "v2"]);
    expect(echoOf(results[0]).protocol).toBe("HTTP/2.0");
  });

  test("gRPC", async () => {
    const client = started().workload("client");
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => client.grpc({ address: VIP, port: 83, host: hostOf("web"), message: "hello" })),
    );
    expect(answers.every(({ grpcStatus }) => grpcStatus === "0")).toBe(true);
    expect([...new Set(answers.map(({ message }) => message))].sort()).toEqual(["v1 hello", "v2 hello"]);
  });

  test("WebSocket", async () => {
    const client = started().workload("client");
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        client.websocket({ address: VIP, port: 80, host: hostOf("web"), messages: ["one", "two"] }),
      ),
    );
    expect(answers.filter(({ status }) => status === 101)).toHaveLength(20);
    const heard = new Set(answers.map(({ messages }) => messages.join()));
    expect([...heard].sort()).toEqual(["v1 one,v1 two", "v2 one,v2 two"]);
  });

  test("TCP", async () => {
    const client = started().workload("client");
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => client.tcp({ address: VIP, port: 84, send: "hello" })),
    );
    expect([...new Set(answers.map(({ received, error }) => error ?? received))].sort()).toEqual([
      "v1 hello",
      "v2 hello",
    ]);
  });

  test("a port whose protocol no one declared", async () => {
    const results = await call({ port: 85, count: 40, concurrency: 4 });
    expect(countStatus(results, 200)).toBe(40);
    expect(namesOf(results)).toEqual(["v1", "v2"]);
  });
});

describe("routing", () => {
  test("a split of 90 to 10 over 1,000 requests", async () => {
    await apply([{ route: [toSubset("web", "v1", 90), toSubset("web", "v2", 10)] }]);
    const results = await call({ port: 80, count: 1000, concurrency: 8 });
    expect(countStatus(results, 200)).toBe(1000);
    const canary = results.filter((result) => echoOf(result).name === "v2").length;
    expect(Math.abs(canary - 100)).toBeLessThanOrEqual(fourSigma(1000, 0.1));
  });

  test("headers and prefixes choose the version, the first match wins", async () => {
    await apply([
      { match: [{ headers: { "x-user": { exact: "tester" } } }], route: [toSubset("web", "v2")] },
      { match: [{ uri: { prefix: "/new" } }], route: [toSubset("web", "v2")] },
      everything(),
    ]);
    expect(namesOf(await call({ port: 80, headers: { "x-user": "tester" }, count: 10 }))).toEqual(["v2"]);
    expect(namesOf(await call({ port: 80, path: "/new/page", count: 10 }))).toEqual(["v2"]);
    expect(namesOf(await call({ port: 80, path: "/old", count: 10 }))).toEqual(["v1"]);
  });

  test("rewrites, redirects and answers without any server", async () => {
    await apply([
      { match: [{ uri: { prefix: "/api/" } }], rewrite: { uri: "/v1/" }, route: [toSubset("web", "v1")] },
      {
        match: [{ uri: { exact: "/moved" } }],
        redirect: { uri: "/here", authority: "other.example", redirectCode: 302 },
      },
      { match: [{ uri: { exact: "/teapot" } }], directResponse: { status: 418, body: { string: "short" } } },
      everything({ headers: { request: { set: { "x-added": "yes" } }, response: { remove: ["x-served-by"] } } }),
    ]);
    expect(echoOf((await call({ port: 80, path: "/api/items" }))[0]).path).toBe("/v1/items");
    const [moved] = await call({ port: 80, path: "/moved" });
    expect(moved).toMatchObject({ status: 302, headers: { location: "http://other.example/here" } });
    expect((await call({ port: 80, path: "/teapot" }))[0]).toMatchObject({ status: 418, body: "short" });
    const [changed] = await call({ port: 80 });
    expect(echoOf(changed).headers["x-added"]).toBe("yes");
    expect(changed?.headers["x-served-by"]).toBeUndefined();
  });

  test("CORS: the sidecar answers the preflight of an allowed origin and marks its responses", async () => {
    await apply([
      everything({
        corsPolicy: { allowOrigins: [{ exact: "https://shop.example" }], allowMethods: ["PUT"], maxAge: "60s" },
      }),
    ]);
    const preflight = { origin: "https://shop.example", "access-control-request-method": "PUT" };
    const [allowed] = await call({ port: 80, method: "OPTIONS", headers: preflight });
    expect(allowed?.headers).toMatchObject({
      "access-control-allow-origin": "https://shop.example",
      "access-control-allow-methods": "PUT",
      "access-control-max-age": "60",
    });
    const [foreign] = await call({ port: 80, headers: { origin: "https://evil.example" } });
    expect(foreign?.headers["access-control-allow-origin"]).toBeUndefined();
  });

  test("a mirrored request reaches the shadow, whose answer is discarded", async () => {
    await apply([everything({ mirror: { host: hostOf("shadow") }, mirrorPercentage: { value: 100 } })]);
    await started().workload("shadow").seen(8080, true);
    const results = await call({ port: 80, path: "/mirrored", count: 20 });
    expect(namesOf(results)).toEqual(["v1"]);
    await until(async () => {
      const seen = await started().workload("shadow").seen(8080);
      return seen.filter((line) => line === "GET /mirrored").length === 20 ? undefined : `${seen.length} mirrored`;
    });
  });

  test("a subset that no rule defines is answered with 503, no cluster", async () => {
    await apply([{ route: [toSubset("web", "v9")] }]);
    expect(countStatus(await call({ port: 80, path: "/nc", count: 3 }), 503)).toBe(3);
    await until(async () => (/ \/nc HTTP\/1\.1" 503 NC /.test(logOfClient()) ? undefined : "no NC in the log"));
  });
});

const logOfClient = () => started().workload("client").agent?.stdout() ?? "";

describe("faults", () => {
  test("three of ten requests are aborted", async () => {
    await apply([everything({ fault: { abort: { percentage: { value: 30 }, httpStatus: 418 } } })]);
    const results = await call({ port: 80, count: 1000, concurrency: 8 });
    const aborted = countStatus(results, 418);
    expect(aborted + countStatus(results, 200)).toBe(1000);
    expect(Math.abs(aborted - 300)).toBeLessThanOrEqual(fourSigma(1000, 0.3));
  });

  test("one of five requests is delayed", async () => {
    await apply([everything({ fault: { delay: { percentage: { value: 20 }, fixedDelay: "1s" } } })]);
    const results = await call({ port: 80, path: "/delayed", count: 300, concurrency: 30 });
    expect(countStatus(results, 200)).toBe(300);
    // By Envoy's own account, as a busy machine delays others as well.
    const flags = () => [...logOfClient().matchAll(/ \/delayed HTTP\/1\.1" 200 (\S+) /g)].map(([, seen]) => seen);
    await until(() => flags().length === 300 || `${flags().length} lines in the log`);
    const delayed = flags().filter((seen) => seen === "DI").length;
    expect(Math.abs(delayed - 60)).toBeLessThanOrEqual(fourSigma(300, 0.2));
    // Envoy's second begins with the turn of its event loop in which the request came, so the caller may see a little less.
    expect(results.filter(({ ms }) => ms >= 950).length).toBeGreaterThanOrEqual(delayed);
  });
});

describe("resilience", () => {
  test("a refused connection is tried elsewhere by default, and only then", async () => {
    const patchy = { port: 80, address: PATCHY_VIP, host: hostOf("patchy"), count: 60, fresh: true };
    expect(countStatus(await call(patchy), 200)).toBe(60);
    await apply(
      [everything()],
      virtualService("patchy", [{ retries: { attempts: 0 }, route: [{ destination: { host: hostOf("patchy") } }] }]),
    );
    await until(async () => {
      const results = await call(patchy);
      return countStatus(results, 503) > 0 ? undefined : "still retried";
    });
  });

  test("503 of a server is retried only when the rule says so", async () => {
    const server = started().workload("v1");
    await apply([everything()]);
    await server.behave({ port: 8080, status: 503, times: 2 });
    expect(countStatus(await call({ port: 80, count: 3 }), 503)).toBe(2);
    await apply([everything({ retries: { attempts: 3, retryOn: "503", backoff: "10ms" } })]);
    await server.behave({ port: 8080, status: 503, times: 2 });
    const [answer] = await call({ port: 80 });
    expect(answer?.status).toBe(200);
    expect(echoOf(answer).headers["x-envoy-attempt-count"]).toBe("3");
    await server.behave({ port: 8080 });
  });

  test("a server that takes longer than the timeout is answered for with 504", async () => {
    await apply([everything({ timeout: "0.3s", retries: { attempts: 0 } })]);
    await started().workload("v1").behave({ port: 8080, delayMs: 3000, times: 1 });
    const [late] = await call({ port: 80 });
    expect(late).toMatchObject({ status: 504 });
    // A busy machine may be late once more.
    await expect.poll(async () => (await call({ port: 80 }))[0]?.status).toBe(200);
    await started().workload("v1").behave({ port: 8080 });
  });

  test("requests beyond the limits of the pool are refused at once with 503 UO", async () => {
    const limits = { tcp: { maxConnections: 1 }, http: { http1MaxPendingRequests: 1 } };
    started().controlPlane.write(
      "limits.yaml",
      destinationRule("shadow", { trafficPolicy: { connectionPool: limits } }),
    );
    await until(async () => {
      const clusters = await started().workload("client").admin("/clusters");
      const limit = new RegExp(`${hostOf("shadow").replaceAll(".", "\\.")}::default_priority::max_connections::1\n`);
      return limit.test(clusters) ? undefined : "no limit yet";
    });
    const server = started().workload("shadow");
    await server.behave({ port: 8080, delayMs: 2000 });
    const shadow = { port: 80, address: SHADOW_VIP, host: hostOf("shadow"), path: "/crowd" };
    const results = await call({ ...shadow, count: 12, concurrency: 12 });
    const refused = results.filter(({ status }) => status === 503);
    expect(countStatus(results, 200)).toBeGreaterThanOrEqual(1);
    expect(refused.length).toBeGreaterThanOrEqual(8);
    expect(refused[0]?.headers["x-envoy-overloaded"]).toBe("true");
    await until(async () => (/ \/crowd HTTP\/1\.1" 503 UO /.test(logOfClient()) ? undefined : "no UO in the log"));
    await server.behave({ port: 8080 });
    started().controlPlane.write("limits.yaml", undefined);
  });

  test("a server that keeps failing is ejected and the others take its requests", async () => {
    const outlierDetection = {
      consecutive5xxErrors: 3,
      interval: "1s",
      baseEjectionTime: "60s",
      maxEjectionPercent: 100,
    };
    started().controlPlane.write(
      "services.yaml",
      services.replace(
        destinationRule("web", VERSIONS),
        destinationRule("web", { ...VERSIONS, trafficPolicy: { outlierDetection } }),
      ),
    );
    await apply([{ route: [{ destination: { host: hostOf("web") } }], retries: { attempts: 0 } }]);
    await started().workload("v2").behave({ port: 8080, status: 500 });
    await until(async () => {
      await call({ port: 80, count: 20 });
      const clusters = await started().workload("client").admin("/clusters");
      return clusters.includes("10.10.2.2:8080::health_flags::/failed_outlier_check") ? undefined : "not ejected";
    });
    const results = await call({ port: 80, count: 100, concurrency: 4 });
    expect(countStatus(results, 200)).toBe(100);
    expect(namesOf(results)).toEqual(["v1"]);
    await started().workload("v2").behave({ port: 8080 });
    started().controlPlane.write("services.yaml", services);
  });
});

test("with REGISTRY_ONLY a host that no one registered is answered with 502 by the sidecar", async () => {
  const stranger = { port: 80, host: "unknown.example", path: "/out" };
  started().controlPlane.writeMesh("accessLogFile: /dev/stdout\noutboundTrafficPolicy: {mode: REGISTRY_ONLY}\n");
  await until(async () => {
    // Until the policy counts, it is sent where no one listens, and Envoy waits ten seconds for that.
    const [answer] = await call({ ...stranger, timeoutMs: 2000 });
    return answer?.status === 502 ? undefined : `${answer?.status} ${answer?.error}`;
  });
  expect((await call({ port: 80 }))[0]?.status).toBe(200);
});

test("none of all this was refused by an Envoy", async () => {
  expect(await started().rejections()).toEqual([]);
  for (const name of ["client", "v1", "v2", "shadow"]) {
    expect(await started().workload(name).rejections(), name).toEqual([]);
  }
});
