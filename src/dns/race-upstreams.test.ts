import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { encodeMessage } from "../../test/support/dns/message.ts";
import { raceUpstreams } from "./forwarder.ts";
import type { UpstreamDone } from "./upstream.ts";

const reply = (rcode: number) => encodeMessage({ id: rcode, rcode, flags: ["qr"] });
const [NOERROR, SERVFAIL, NXDOMAIN, REFUSED] = [0, 2, 3, 5].map(reply) as [Buffer, Buffer, Buffer, Buffer];
const broken = new Error("connection refused");

/** A race whose servers answer when the test says so. */
function start(servers: readonly string[], parallel = false) {
  const asked = new Map<string, UpstreamDone>();
  const givenUp: string[] = [];
  const failures: string[] = [];
  const ends: (Buffer | undefined)[] = [];
  const cancel = raceUpstreams({
    servers,
    parallel,
    timeoutMs: 1_000,
    ask: (server, done) => {
      asked.set(server, done);
      return () => givenUp.push(server);
    },
    onFailure: (server, failure) => failures.push(`${server}: ${failure.message}`),
    onEnd: (result) => ends.push(result),
  });
  const settle = (server: string, outcome: Buffer | Error) => asked.get(server)?.(outcome);
  return { asked: () => [...asked.keys()], settle, givenUp, failures, ends, cancel };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe("one after the other", () => {
  test.each([
    { what: "an answer", outcome: NOERROR },
    { what: "'no such name'", outcome: NXDOMAIN },
  ])("$what of the first ends the race", ({ outcome }) => {
    const race = start(["a", "b"]);
    expect(race.asked()).toEqual(["a"]);
    race.settle("a", outcome);
    expect(race.ends).toEqual([outcome]);
    expect(race.asked()).toEqual(["a"]);
  });

  test.each([
    { what: "a failure", outcome: broken, failures: ["a: connection refused"] },
    { what: "SERVFAIL", outcome: SERVFAIL, failures: [] },
    { what: "REFUSED", outcome: REFUSED, failures: [] },
  ])("$what of the first asks the second at once", ({ outcome, failures }) => {
    const race = start(["a", "b"]);
    race.settle("a", outcome);
    expect(race.asked()).toEqual(["a", "b"]);
    race.settle("b", NOERROR);
    expect(race.ends).toEqual([NOERROR]);
    expect(race.failures).toEqual(failures);
  });

  test("each server has its share of the time, and a late answer still counts", () => {
    const race = start(["a", "b", "c", "d"]);
    vi.advanceTimersByTime(249);
    expect(race.asked()).toEqual(["a"]);
    vi.advanceTimersByTime(1);
    expect(race.asked()).toEqual(["a", "b"]);
    vi.advanceTimersByTime(500);
    expect(race.asked()).toEqual(["a", "b", "c", "d"]);
    race.settle("a", NOERROR);
    expect(race.ends).toEqual([NOERROR]);
    expect(race.givenUp).toEqual(["a", "b", "c", "d"]);
  });

  test("after a failure the next server gets a whole share", () => {
    const race = start(["a", "b", "c", "d"]);
    vi.advanceTimersByTime(200);
    race.settle("a", broken);
    vi.advanceTimersByTime(249);
    expect(race.asked()).toEqual(["a", "b"]);
    vi.advanceTimersByTime(1);
    expect(race.asked()).toEqual(["a", "b", "c"]);
    race.cancel();
  });

  test("the first refusal is the result when no one does better", () => {
    const race = start(["a", "b", "c"]);
    race.settle("a", REFUSED);
    race.settle("b", broken);
    race.settle("c", SERVFAIL);
    expect(race.ends).toEqual([REFUSED]);
  });

  test("the end of the time gives a refusal, or nothing", () => {
    const refused = start(["a", "b"]);
    refused.settle("a", SERVFAIL);
    const mute = start(["a", "b"]);
    vi.advanceTimersByTime(1_000);
    expect(refused.ends).toEqual([SERVFAIL]);
    expect(refused.failures).toEqual(["b: i/o timeout"]);
    expect(mute.ends).toEqual([undefined]);
    expect(mute.failures).toEqual(["a: i/o timeout", "b: i/o timeout"]);
  });
});

describe("all at once", () => {
  test("every server is asked and the first useful answer wins", () => {
    const race = start(["a", "b", "c"], true);
    expect(race.asked()).toEqual(["a", "b", "c"]);
    race.settle("b", SERVFAIL);
    race.settle("c", broken);
    expect(race.ends).toEqual([]);
    race.settle("a", NXDOMAIN);
    expect(race.ends).toEqual([NXDOMAIN]);
  });

  test("when all failed the race ends without waiting", () => {
    const race = start(["a", "b"], true);
    race.settle("b", broken);
    race.settle("a", broken);
    expect(race.ends).toEqual([undefined]);
  });
});

test("a cancelled race ends once, unanswered, and later outcomes change nothing", () => {
  const race = start(["a", "b"]);
  race.cancel();
  race.cancel();
  race.settle("a", NOERROR);
  expect(race.ends).toEqual([undefined]);
  expect(race.asked()).toEqual(["a"]);
});
