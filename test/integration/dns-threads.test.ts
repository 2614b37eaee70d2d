import { createSocket } from "node:dgram";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import { DNS_RULES } from "../../src/dns/core/generations.ts";
import { declareDnsMetrics } from "../../src/dns/metrics.ts";
import { createPortMap, type PortMap } from "../../src/dns/port-owners.ts";
import type { ResolverSettings } from "../../src/dns/resolver.ts";
import { startThreads } from "../../src/dns/threads.ts";
import type { NameTable } from "../../src/xds/name-table.ts";
import { ask } from "../support/dns/client.ts";
import { crashThreads } from "../support/dns/crash.ts";
import { MESH_TABLE, recordingLogger } from "../support/dns/fixture.ts";
import { aRecord } from "../support/dns/message.ts";
import { replyTo, startDnsUpstream } from "../support/dns/upstream.ts";
import { bundleDnsWorker, type WorkerBundle } from "../support/dns/worker-bundle.ts";
import { freePort } from "../support/net/free-ports.ts";
import { until } from "../support/wait/until.ts";

let worker: WorkerBundle;
beforeAll(async () => {
  worker = await bundleDnsWorker();
});
afterAll(() => worker[Symbol.asyncDispose]());

const SETTINGS: ResolverSettings = {
  rules: DNS_RULES.master,
  proxyNamespace: "ns1",
  proxyDomain: "ns1.svc.cluster.local",
  ttlSeconds: 30,
  forwardsOtherTypes: false,
  forwardsBeforeSync: false,
  forwardTimeoutMs: 5_000,
  forwardsInParallel: false,
  maxForwards: 100,
  queriesPerSocket: 64,
  upstreamPort: 53,
};

/** One worker that has an address for itself, which works on every platform. */
async function startOne(settings: Partial<ResolverSettings> = {}, url = worker.url) {
  const address = { host: "127.0.0.1", port: await freePort("127.0.0.1") };
  const log = recordingLogger();
  const registry = new MetricRegistry();
  const ports = createPortMap(2);
  const threads = startThreads({
    count: 1,
    url,
    settings: { ...SETTINGS, ...settings },
    addresses: [address],
    ports,
    log,
    metrics: declareDnsMetrics(registry),
  });
  const messages = () => log.lines.map(({ message }) => message);
  const served = (times: number) =>
    until(() => expect(messages().filter((line) => line === "DNS thread serves")).toHaveLength(times));
  return { address, log, messages, registry, ports, threads, served, [Symbol.asyncDispose]: () => threads.stop() };
}

const isFree = ({ owners, waiting }: PortMap) => [owners, waiting].every((bytes) => bytes.every((byte) => byte === 0));
const withAddress = (ip: string): NameTable => ({ table: { "moving.example": { ips: [ip], registry: "External" } } });
const texts = async (address: { host: string; port: number }, name: string) =>
  (await ask("udp", address, { name })).answers.map(({ text }) => text);

describe("a thread", () => {
  test("binds when it has a table, and answers from it", async () => {
    await using one = await startOne();
    one.threads.configure({ search: "ns1.svc.cluster.local.", servers: [] });
    one.threads.setTable(MESH_TABLE);
    await one.served(1);
    expect(await texts(one.address, "productpage.ns1.svc.cluster.local.")).toEqual(["9.9.9.9"]);
    expect(await texts(one.address, "productpage.")).toEqual(["9.9.9.9"]);
    expect(await texts(one.address, "www.google.com.ns1.svc.cluster.local.")).toEqual(["www.google.com.", "1.1.1.1"]);
    expect(one.log.lines.at(-1)).toMatchObject({ level: "info", fields: { thread: 2 } });
  });

  test("forwards by itself, to the servers of the moment", async () => {
    await using first = await startDnsUpstream((query) =>
      replyTo(query, { answers: [aRecord("x.example.", "1.1.1.1")] }),
    );
    await using second = await startDnsUpstream(
      (query) => replyTo(query, { answers: [aRecord("x.example.", "2.2.2.2")] }),
      "127.0.0.2",
      first.port,
    );
    await using one = await startOne({ upstreamPort: first.port });
    one.threads.configure({ search: undefined, servers: ["127.0.0.1"] });
    one.threads.setTable(MESH_TABLE);
    await one.served(1);
    expect(await texts(one.address, "x.example.")).toEqual(["1.1.1.1"]);
    one.threads.configure({ search: undefined, servers: [second.host] });
    await until(async () => expect(await texts(one.address, "x.example.")).toEqual(["2.2.2.2"]));
  });

  test("has its queries counted in the registry of the main thread, failures and times included", async () => {
    await using upstream = await startDnsUpstream((query) =>
      query.message.questions[0]?.name === "x.example." ? replyTo(query) : undefined,
    );
    await using one = await startOne({ upstreamPort: upstream.port, forwardTimeoutMs: 1_500 });
    one.threads.configure({ search: undefined, servers: ["127.0.0.1"] });
    one.threads.setTable(MESH_TABLE);
    await one.served(1);
    for (const name of ["productpage.", "x.example.", "dead.example."]) await ask("udp", one.address, { name });
    await until(() => {
      const text = one.registry.render();
      expect(text).toContain("istio_agent_dns_requests_total 3\n");
      expect(text).toContain("istio_agent_dns_upstream_requests_total 2\n");
      expect(text).toContain("istio_agent_dns_upstream_failures_total 1\n");
      expect(text).toContain("istio_agent_dns_upstream_request_duration_seconds_count 2\n");
    });
  });

  test("gives all its upstream ports free again", async () => {
    await using upstream = await startDnsUpstream((query) => replyTo(query));
    await using one = await startOne({ upstreamPort: upstream.port, queriesPerSocket: 1 });
    one.threads.configure({ search: undefined, servers: ["127.0.0.1"] });
    one.threads.setTable(MESH_TABLE);
    await one.served(1);
    for (let index = 0; index < 20; index++) await ask("udp", one.address, { name: `x${index}.example.` });
    await until(() => expect(isFree(one.ports)).toBe(true));
  });

  test("ends a storm of pushes with the last table, and never answers in between without one", async () => {
    await using one = await startOne();
    one.threads.setTable(withAddress("10.0.0.0"));
    await one.served(1);
    for (let push = 1; push <= 200; push++) {
      one.threads.setTable(withAddress(`10.0.0.${push}`));
      if (push % 20 === 0) expect(await texts(one.address, "moving.example.")).toHaveLength(1);
    }
    await until(async () => expect(await texts(one.address, "moving.example.")).toEqual(["10.0.0.200"]));
  });
});

describe("a thread whose addresses change", () => {
  const otherOf = ({ port }: { port: number }) => ({ host: "127.0.0.2", port });
  const isServed = (address: { host: string; port: number }) =>
    until(async () => {
      const reply = await ask("udp", address, { name: "productpage.", timeoutMs: 200 });
      expect(reply.answers).toMatchObject([{ text: "9.9.9.9" }]);
    });

  test("serves the new one and leaves the old one", async () => {
    await using one = await startOne();
    one.threads.setTable(MESH_TABLE);
    await one.served(1);
    one.threads.setAddresses([otherOf(one.address)]);
    await isServed(otherOf(one.address));
    await expect(ask("udp", one.address, { name: "productpage.", timeoutMs: 200 })).rejects.toThrow();
  });

  test("before it has a table, or dies, serves the last ones", async () => {
    await using one = await startOne();
    one.threads.setAddresses([otherOf(one.address)]);
    one.threads.setTable(MESH_TABLE);
    await one.served(1);
    expect(await texts(otherOf(one.address), "productpage.")).toEqual(["9.9.9.9"]);
    crashThreads();
    await one.served(2);
    expect(await texts(otherOf(one.address), "productpage.")).toEqual(["9.9.9.9"]);
  });

  test("passes over one that is not there", async () => {
    await using one = await startOne();
    one.threads.setTable(MESH_TABLE);
    await one.served(1);
    one.threads.setAddresses([{ host: "192.0.2.1", port: one.address.port }, one.address, otherOf(one.address)]);
    await isServed(otherOf(one.address));
    expect(await texts(one.address, "productpage.")).toEqual(["9.9.9.9"]);
    expect(one.messages()).toEqual(["DNS thread serves"]);
  });
});

describe("a thread that dies", () => {
  test("is replaced with a warning by one that knows the latest table and servers", async () => {
    await using upstream = await startDnsUpstream((query) =>
      replyTo(query, { answers: [aRecord("x.example.", "1.1.1.1")] }),
    );
    await using one = await startOne({ upstreamPort: upstream.port });
    one.threads.setTable(withAddress("10.0.0.1"));
    await one.served(1);
    one.threads.configure({ search: undefined, servers: ["127.0.0.1"] });
    one.threads.setTable(withAddress("10.0.0.2"));
    crashThreads();
    await one.served(2);
    expect(one.log.lines.find(({ level }) => level === "warn")).toMatchObject({
      message: "a DNS thread ended and is started again; the others serve meanwhile",
      fields: { thread: 2, cause: "made to fail" },
    });
    expect(await texts(one.address, "moving.example.")).toEqual(["10.0.0.2"]);
    expect(await texts(one.address, "x.example.")).toEqual(["1.1.1.1"]);
    one.threads.setTable(withAddress("10.0.0.3"));
    await until(async () => expect(await texts(one.address, "moving.example.")).toEqual(["10.0.0.3"]));
  });

  test("while it forwards leaves no port that would look like a loop", async () => {
    await using upstream = await startDnsUpstream(() => undefined);
    await using one = await startOne({ upstreamPort: upstream.port });
    one.threads.configure({ search: undefined, servers: ["127.0.0.1"] });
    one.threads.setTable(MESH_TABLE);
    await one.served(1);
    const unanswered = ask("udp", one.address, { name: "x.example.", timeoutMs: 500 }).catch(() => "no answer");
    await until(() => expect(one.ports.owners.includes(2)).toBe(true));
    crashThreads();
    await one.served(2);
    expect(isFree(one.ports)).toBe(true);
    expect(await unanswered).toBe("no answer");
  });

  test("because its program is missing is tried again, and stops at once on request", async () => {
    await using one = await startOne({}, new URL("./nowhere.mjs", worker.url));
    await until(() => expect(one.log.lines.filter(({ level }) => level === "warn").length).toBeGreaterThan(1));
    expect(one.log.lines[0]?.fields.cause).toMatch(/nowhere\.mjs/);
  });

  test("because it cannot bind says where, and serves when it can", async () => {
    await using one = await startOne();
    const { host, port } = one.address;
    const squatter = createSocket("udp4");
    await new Promise<void>((bound) => squatter.bind({ port, address: host, exclusive: true }, bound));
    one.threads.setTable(MESH_TABLE);
    await until(() => expect(one.log.lines.length).toBeGreaterThan(0));
    expect(one.log.lines[0]?.fields.cause).toBe(`listen udp ${host}:${port}: bind: address already in use`);
    squatter.close();
    await one.served(1);
  });
});

describe("stopping threads", () => {
  test("answers those who wait for upstream, reports the last queries and frees the port", async () => {
    await using upstream = await startDnsUpstream(() => undefined);
    await using one = await startOne({ upstreamPort: upstream.port });
    one.threads.configure({ search: undefined, servers: ["127.0.0.1"] });
    one.threads.setTable(MESH_TABLE);
    await one.served(1);
    const waiting = ask("udp", one.address, { name: "x.example." });
    await until(() => expect(upstream.queries).toHaveLength(1));
    await one.threads.stop();
    expect(await waiting).toMatchObject({ rcode: 2 });
    expect(one.registry.render()).toContain("istio_agent_dns_requests_total 1\n");
    expect(one.messages()).toEqual(["DNS thread serves"]);
    await expect(ask("udp", one.address, { name: "productpage.", timeoutMs: 200 })).rejects.toThrow();
  });

  test.each(["right after the start", "while the first table is on its way"])("%s leaves nothing", async (when) => {
    const one = await startOne();
    if (when !== "right after the start") one.threads.setTable(MESH_TABLE);
    await one.threads.stop();
    await one.threads.stop();
    expect(one.log.lines.filter(({ level }) => level === "warn")).toEqual([]);
    expect(process.getActiveResourcesInfo().filter((name) => name === "Worker" || name === "MessagePort")).toEqual([]);
  });
});
