import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import { whyNoSharedPorts } from "../../src/dns/start-dns-server.ts";
import { ask, queryBytes } from "../support/dns/client.ts";
import { crashThreads } from "../support/dns/crash.ts";
import {
  type DnsFixture,
  type FixtureOptions,
  MESH_TABLE,
  recordingLogger,
  startDnsFixture,
} from "../support/dns/fixture.ts";
import { aRecord, decodeMessage } from "../support/dns/message.ts";
import { replyTo, startDnsUpstream } from "../support/dns/upstream.ts";
import { bundleDnsServer, bundleDnsWorker, type WorkerBundle } from "../support/dns/worker-bundle.ts";
import { freePort } from "../support/net/free-ports.ts";
import { skipWith } from "../support/skip-with.ts";
import { until } from "../support/wait/until.ts";

let worker: WorkerBundle;
let obstacle: string | undefined;
beforeAll(async () => {
  worker = await bundleDnsWorker();
  obstacle = await whyNoSharedPorts();
});
afterAll(() => worker[Symbol.asyncDispose]());

const KNOWN = "productpage.ns1.svc.cluster.local.";
const CLIENTS = 40;

/** Every client has a port of its own, so that the kernel spreads them over the threads. Prints the replies until no more come. */
const CLIENTS_SCRIPT = `
const { createSocket } = require("node:dgram");
const [port, query] = process.argv.slice(1);
const sockets = Array.from({ length: ${CLIENTS} }, () => createSocket("udp4"));
let quiet = setTimeout(process.exit, 10_000);
for (const socket of sockets) {
  socket.on("message", (reply) => {
    console.log(reply.toString("hex"));
    clearTimeout(quiet);
    quiet = setTimeout(process.exit, 300);
  });
  socket.send(Buffer.from(query, "hex"), Number(port), "127.0.0.1");
}
`;

/** Blocks this thread meanwhile: what is answered is answered by others. */
function askWithoutMainThread(fixture: DnsFixture, name: string) {
  const args = ["-e", CLIENTS_SCRIPT, String(fixture.address.port), queryBytes({ name }).toString("hex")];
  const { stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => decodeMessage(Buffer.from(line, "hex")));
}

const askAll = (fixture: DnsFixture, name: string) =>
  Promise.all(Array.from({ length: CLIENTS }, () => ask("udp", fixture.address, { name })));

const linesAbout = (fixture: DnsFixture, message: RegExp) =>
  fixture.log.lines.filter((line) => message.test(line.message));

async function startThreaded(threads: number, options: FixtureOptions = {}): Promise<DnsFixture> {
  const fixture = await startDnsFixture({ threads, workerUrl: worker.url, ...options });
  await until(() => expect(linesAbout(fixture, /^DNS thread serves/)).toHaveLength(threads - 1));
  return fixture;
}

test("two threads are asked for: both serve where ports can be shared, else one warning says why and one serves", async () => {
  await using fixture = await startDnsFixture({ threads: 2, workerUrl: worker.url });
  expect(await ask("udp", fixture.address, { name: KNOWN })).toMatchObject({ answers: [{ text: "9.9.9.9" }] });
  expect(await ask("tcp", fixture.address, { name: KNOWN })).toMatchObject({ answers: [{ text: "9.9.9.9" }] });
  expect(fixture.server.notReadyReason()).toBeUndefined();
  if (obstacle === undefined) await until(() => expect(linesAbout(fixture, /^DNS thread serves/)).toHaveLength(1));
  const causes = fixture.log.lines.filter(({ level }) => level === "warn").map(({ fields }) => fields.cause);
  expect(causes).toEqual(obstacle === undefined ? [] : [expect.stringContaining("EADDRINUSE")]);
});

describe("several threads on one port", () => {
  beforeEach((context) => {
    if (obstacle !== undefined)
      skipWith(context, `this runtime cannot share UDP ports (Linux and Node 22.12): ${obstacle}`);
  });

  test("share the queries: what reaches the others is answered while the main thread is busy", async () => {
    await using fixture = await startThreaded(3);
    const replies = askWithoutMainThread(fixture, KNOWN);
    expect(replies.length).toBeGreaterThan(0);
    expect(replies.length).toBeLessThan(CLIENTS);
    for (const reply of replies) expect(reply).toMatchObject({ rcode: 0, answers: [{ text: "9.9.9.9" }] });
  });

  test("find their program by themselves in a bundle that is split into chunks", async () => {
    await using bundle = await bundleDnsServer();
    const built: typeof import("../../src/dns/index.ts") = await import(bundle.url.href);
    const { log, metrics } = { log: recordingLogger(), metrics: built.declareDnsMetrics(new MetricRegistry()) };
    const { resolvConfPath } = bundle;
    const options = { listen: "127.0.0.1:0", proxyNamespace: "ns1", proxyDomain: "ns1.svc.cluster.local" };
    await using server = await built.startDnsServer({ ...options, resolvConfPath, log, metrics, threads: 2 });
    server.updateNameTable(MESH_TABLE);
    await until(() => expect(log.lines.at(-1)?.message).toBe("DNS thread serves"));
  });

  test("forward, each by itself", async () => {
    await using upstream = await startDnsUpstream((query) =>
      replyTo(query, { answers: [aRecord("x.example.", "1.1.1.1")] }),
    );
    await using fixture = await startThreaded(2, { upstreamPort: upstream.port });
    for (const reply of await askAll(fixture, "x.example.")) {
      expect(reply).toMatchObject({ answers: [{ text: "1.1.1.1" }] });
    }
  });

  test("have one sum of their queries", async () => {
    await using fixture = await startThreaded(3);
    await askAll(fixture, KNOWN);
    await until(() => expect(fixture.registry.render()).toContain(`dns_requests_total ${CLIENTS}\n`));
  });

  test("all have a new table soon after it came", async () => {
    await using fixture = await startThreaded(3);
    fixture.server.updateNameTable({ table: { "new.example": { ips: ["3.3.3.3"] } } });
    await until(async () => {
      const replies = await askAll(fixture, "new.example.");
      expect(replies.map(({ answers }) => answers[0]?.text)).toEqual(new Array(CLIENTS).fill("3.3.3.3"));
    });
  });

  test("notice a loop although the question comes back to another thread", async () => {
    const port = await freePort("127.0.0.1");
    await using fixture = await startThreaded(3, {
      listen: `localhost:${port}`,
      upstreamPort: port,
      resolvConf: "nameserver localhost\n",
      forwardTimeoutMs: 60_000,
      limits: { queriesPerSocket: 1 },
    });
    // Different questions from different ports: one alone may by chance come back to the thread that sent it.
    const names = Array.from({ length: CLIENTS }, (_, index) => `x${index}.example.`);
    const replies = await Promise.all(names.map((name) => ask("udp", fixture.address, { name })));
    expect(replies.map(({ rcode }) => rcode)).toEqual(new Array(CLIENTS).fill(2));
  });

  test("serve on when one dies, and are as many as before soon after", async () => {
    await using fixture = await startThreaded(3);
    crashThreads();
    await until(() => expect(linesAbout(fixture, /^a DNS thread ended/)).toHaveLength(2));
    expect(await ask("udp", fixture.address, { name: KNOWN })).toMatchObject({ answers: [{ text: "9.9.9.9" }] });
    await until(() => expect(linesAbout(fixture, /^DNS thread serves/)).toHaveLength(4));
    expect(askWithoutMainThread(fixture, KNOWN).length).toBeGreaterThan(0);
  });

  test("do not let a second server onto their port", async () => {
    await using fixture = await startThreaded(2);
    const listen = `127.0.0.1:${fixture.address.port}`;
    await expect(startDnsFixture({ listen, threads: 2, workerUrl: worker.url })).rejects.toMatchObject({
      code: "address-in-use",
      message: `listen udp ${listen}: bind: address already in use`,
    });
  });

  test("leave the port free when they stop, also right after the start", async () => {
    const listen = `127.0.0.1:${await freePort("127.0.0.1")}`;
    for (let round = 0; round < 3; round++) {
      const fixture = await startDnsFixture({ listen, threads: 3, workerUrl: worker.url });
      await fixture[Symbol.asyncDispose]();
      expect(linesAbout(fixture, /^a DNS thread ended/)).toEqual([]);
    }
    await using _alone = await startDnsFixture({ listen });
  });

  test("leave nothing when the start is given up", async () => {
    const listen = `127.0.0.1:${await freePort("127.0.0.1")}`;
    const giveUp = new AbortController();
    const starting = startDnsFixture({ listen, threads: 3, workerUrl: worker.url, signal: giveUp.signal });
    giveUp.abort(new Error("given up"));
    await expect(starting).rejects.toThrow("given up");
    await using _alone = await startDnsFixture({ listen });
  });
});
