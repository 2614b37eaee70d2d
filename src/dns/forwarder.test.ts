import { describe, expect, test } from "vitest";
import { aRecord, encodeMessage } from "../../test/support/dns/message.ts";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { createForwarder, type ForwarderOptions } from "./forwarder.ts";
import { declareDnsMetrics } from "./metrics.ts";
import type { UpstreamDone, UpstreamTransport } from "./upstream.ts";

interface Asked {
  readonly server: string;
  readonly message: Buffer;
  readonly done: UpstreamDone;
  isGivenUp: boolean;
}

/** Nameservers that answer when the test says so. */
function transport() {
  const asked: Asked[] = [];
  const upstream: UpstreamTransport = {
    query: (server, message, done) => {
      const query: Asked = { server, message, done, isGivenUp: false };
      asked.push(query);
      return () => {
        query.isGivenUp = true;
      };
    },
    isOwn: () => false,
    stop: async () => undefined,
  };
  return { asked, upstream };
}

function setUp(given: Partial<ForwarderOptions> = {}) {
  const [udp, tcp] = [transport(), transport()];
  const registry = new MetricRegistry();
  const log = recordLog();
  const forwarder = createForwarder({
    udp: udp.upstream,
    tcp: tcp.upstream,
    timeoutMs: 60_000,
    parallel: false,
    maxForwards: 10,
    shuffleServers: undefined,
    log,
    metrics: declareDnsMetrics(registry),
    ...given,
  });
  forwarder.setServers(["10.0.0.1", "10.0.0.2"]);
  const figure = (name: string) =>
    Number(new RegExp(`^istio_agent_dns_${name} (\\S+)$`, "m").exec(registry.render())?.[1]);
  return { forwarder, udp: udp.asked, tcp: tcp.asked, log, figure };
}

const question = (name: string, id = 1) => encodeMessage({ id, questions: [{ name, type: 1, class: 1 }] });
const reply = (name: string, isTruncated = false) =>
  encodeMessage({
    flags: isTruncated ? ["qr", "tc"] : ["qr"],
    questions: [{ name, type: 1, class: 1 }],
    answers: isTruncated ? [] : [aRecord(name, "1.2.3.4")],
  });

describe("servers", () => {
  test("are asked one after the other until one answers", async () => {
    const { forwarder, udp } = setUp();
    const answered = forwarder.forward(question("a."), "udp");
    expect(udp.map(({ server }) => server)).toEqual(["10.0.0.1"]);
    udp[0]?.done(new Error("refused"));
    expect(udp.map(({ server }) => server)).toEqual(["10.0.0.1", "10.0.0.2"]);
    udp[1]?.done(reply("a."));
    expect(await answered).toEqual(reply("a."));
  });

  test("are asked all at once where that is chosen, and the others are let go", async () => {
    const { forwarder, udp } = setUp({ parallel: true });
    const answered = forwarder.forward(question("a."), "udp");
    expect(udp.map(({ server }) => server)).toEqual(["10.0.0.1", "10.0.0.2"]);
    udp[1]?.done(reply("a."));
    expect(await answered).toEqual(reply("a."));
    expect(udp[0]?.isGivenUp).toBe(true);
  });

  test("are each asked once, however often they are named", async () => {
    const { forwarder, udp } = setUp({ parallel: true });
    forwarder.setServers(["10.0.0.3", "10.0.0.3"]);
    const answered = forwarder.forward(question("a."), "udp");
    expect(udp.map(({ server }) => server)).toEqual(["10.0.0.3"]);
    udp[0]?.done(reply("a."));
    await answered;
  });

  test("that all fail leave the question unanswered, which counts", async () => {
    const { forwarder, udp, figure, log } = setUp();
    const answered = forwarder.forward(question("a."), "udp");
    udp[0]?.done(new Error("refused"));
    udp[1]?.done(new Error("timeout"));
    expect(await answered).toBeUndefined();
    expect([figure("upstream_requests_total"), figure("upstream_failures_total")]).toEqual([1, 1]);
    expect(log.text()).toContain("upstream failure: refused");
  });

  test("are not there: nothing is asked", async () => {
    const { forwarder, udp, figure } = setUp();
    forwarder.setServers([]);
    expect(await forwarder.forward(question("a."), "udp")).toBeUndefined();
    expect(udp).toEqual([]);
    expect(figure("upstream_failures_total")).toBe(1);
  });

  test("one that keeps failing is a line a second, the rest for whoever debugs", async () => {
    const { forwarder, udp, log } = setUp();
    forwarder.setServers(["10.0.0.1"]);
    for (const name of ["a.", "b.", "c."]) {
      const answered = forwarder.forward(question(name), "udp");
      udp.at(-1)?.done(new Error("refused"));
      await answered;
    }
    expect(log.lines.map(({ level }) => level)).toEqual(["info", "debug", "debug"]);
  });
});

describe("the same question", () => {
  test("is asked once at a time, regardless of its number", async () => {
    const { forwarder, udp } = setUp();
    const both = [forwarder.forward(question("a.", 1), "udp"), forwarder.forward(question("a.", 2), "udp")];
    expect(udp).toHaveLength(1);
    udp[0]?.done(reply("a."));
    const [first, second] = await Promise.all(both);
    expect(first).toBe(second);
    const later = forwarder.forward(question("a.", 3), "udp");
    expect(udp).toHaveLength(2);
    udp[1]?.done(reply("a."));
    await later;
  });

  test("over another transport, and another question, are asked by themselves", async () => {
    const { forwarder, udp, tcp } = setUp();
    const all = [
      forwarder.forward(question("a."), "udp"),
      forwarder.forward(question("a."), "tcp"),
      forwarder.forward(question("b."), "udp"),
    ];
    expect([udp.length, tcp.length]).toEqual([2, 1]);
    for (const { done } of [...udp, ...tcp]) done(reply("a."));
    await Promise.all(all);
  });
});

describe("a cut answer", () => {
  test("is asked for again over TCP", async () => {
    const { forwarder, udp, tcp } = setUp();
    const answered = forwarder.forward(question("a."), "udp");
    udp[0]?.done(reply("a.", true));
    expect(tcp.map(({ server }) => server)).toEqual(["10.0.0.1"]);
    tcp[0]?.done(reply("a."));
    expect(await answered).toEqual(reply("a."));
  });

  test("is better than none when TCP fails", async () => {
    const { forwarder, udp, tcp } = setUp();
    const answered = forwarder.forward(question("a."), "udp");
    udp[0]?.done(reply("a.", true));
    tcp[0]?.done(new Error("refused"));
    expect(await answered).toEqual(reply("a.", true));
  });
});

test("more questions at a time than allowed are not asked, those under way are still shared", async () => {
  const { forwarder, udp } = setUp({ maxForwards: 2 });
  const first = forwarder.forward(question("a."), "udp");
  const second = forwarder.forward(question("b."), "udp");
  expect(await forwarder.forward(question("c."), "udp")).toBeUndefined();
  const shared = forwarder.forward(question("a.", 9), "udp");
  for (const { done } of udp) done(reply("a."));
  expect(await Promise.all([first, second, shared])).not.toContain(undefined);
  expect(udp).toHaveLength(2);
});

test("stopping ends what waits, and asks nothing any more", async () => {
  const { forwarder, udp } = setUp();
  const answered = forwarder.forward(question("a."), "udp");
  await forwarder.stop();
  expect(await answered).toBeUndefined();
  expect(udp[0]?.isGivenUp).toBe(true);
  expect(await forwarder.forward(question("b."), "udp")).toBeUndefined();
  expect(udp).toHaveLength(1);
});

test("questions that wait take a bounded amount of memory, however long they are", async () => {
  const { forwarder, udp } = setUp({ maxForwards: 10_000 });
  const long = (index: number) => Buffer.concat([question(`${index}.`), Buffer.alloc(60_000)]);
  const waiting = Array.from({ length: 279 }, (_, index) => forwarder.forward(long(index), "udp"));
  expect(await forwarder.forward(long(279), "udp")).toBeUndefined();
  const short = forwarder.forward(question("short."), "udp");
  for (const { message, done } of udp.slice(0, -1))
    done(Buffer.concat([message.subarray(0, 2), reply("x.").subarray(2)]));
  udp.at(-1)?.done(reply("short."));
  expect(await short).toEqual(reply("short."));
  expect((await Promise.all(waiting)).every((answer) => answer !== undefined)).toBe(true);
  const again = forwarder.forward(long(279), "udp");
  udp.at(-1)?.done(reply("279."));
  expect(await again).toEqual(reply("279."));
});

test.each([true, false])(
  "that every server failed is reported once a second where all are asked at once (%s)",
  async (parallel) => {
    const { forwarder, udp, log } = setUp({ parallel });
    for (const name of ["a.", "b."]) {
      const failed = forwarder.forward(question(name), "udp");
      for (let asked = 0; asked < udp.length; asked++) udp[asked]?.done(new Error("refused"));
      udp.length = 0;
      expect(await failed).toBeUndefined();
    }
    expect(log.texts().filter((line) => line === "info all upstream failed")).toHaveLength(parallel ? 1 : 0);
    const waiting = forwarder.forward(question("c."), "udp");
    await forwarder.stop();
    expect(await waiting).toBeUndefined();
  },
);
