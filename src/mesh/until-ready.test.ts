import { expect, test } from "vitest";
import { untilReady, untilReadyTogether } from "./until-ready.ts";

const NEVER = new AbortController().signal;

/** Objects so many times. */
function reluctant(times: number, objection: string) {
  let asked = 0;
  const ask = async () => {
    asked += 1;
    return asked <= times ? objection : undefined;
  };
  return { ask, asked: () => asked };
}

test("nothing to ask is ready", async () => {
  expect(await untilReady([], { limitMs: 0, signal: NEVER })).toEqual([]);
});

test("each is asked until it has no objection, and no longer", async () => {
  const [quick, slow] = [reluctant(0, "quick"), reluctant(2, "slow")];
  expect(await untilReady([quick.ask, slow.ask], { limitMs: 60_000, signal: NEVER })).toEqual([]);
  expect([quick.asked(), slow.asked()]).toEqual([1, 3]);
});

test("when the time is over the objections that are left are reported", async () => {
  const left = await untilReady([async () => "no certificate", async () => undefined, async () => "no listener"], {
    limitMs: -1,
    signal: NEVER,
  });
  expect(left).toEqual(["no certificate", "no listener"]);
});

test("who does not want to wait any more gets what is left at once", async () => {
  const leaving = new AbortController();
  const waiting = untilReady([async () => "not yet"], { limitMs: 3_600_000, signal: leaving.signal });
  leaving.abort();
  expect(await waiting).toEqual(["not yet"]);
});

test("a question that fails fails the whole", async () => {
  const asking = untilReady([async () => Promise.reject(new Error("broken"))], { limitMs: 1000, signal: NEVER });
  await expect(asking).rejects.toThrow("broken");
});

test("who was ready and objects again while others were waited for is waited for, too", async () => {
  const answers = [undefined, "ended", "ended", undefined];
  const wavering = async () => answers.shift();
  const slow = reluctant(1, "slow");
  expect(await untilReadyTogether([wavering, slow.ask], { limitMs: 60_000, signal: NEVER })).toEqual([]);
  expect(answers).toEqual([]);
});

test("who objects again when the time is over is reported", async () => {
  const answers = [undefined];
  const ended = async () => (answers.length > 0 ? answers.pop() : "ended");
  expect(await untilReadyTogether([ended], { limitMs: -1, signal: NEVER })).toEqual(["ended"]);
});
