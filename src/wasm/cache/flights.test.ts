import { expect, test } from "vitest";
import { Flights } from "./start-module-cache.ts";

function deferred<Value>() {
  let settle: { resolve(value: Value): void; reject(failure: unknown): void } | undefined;
  const promise = new Promise<Value>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return {
    promise,
    resolve: (value: Value) => settle?.resolve(value),
    reject: (failure: unknown) => settle?.reject(failure),
  };
}

const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));

test("those who want the same share one piece of work, others have their own", async () => {
  const flights = new Flights<number>();
  const work = deferred<number>();
  let started = 0;
  const begin = () => {
    started += 1;
    return work.promise;
  };
  const all = ["a", "a", "b"].map((key) => flights.run(key, 5000, begin));
  expect(started).toBe(2);
  work.resolve(7);
  expect(await Promise.all(all)).toEqual([7, 7, 7]);
  await flights.run("a", 5000, begin);
  expect(started).toBe(3);
});

test("a failure reaches all who wait, and the next one tries again", async () => {
  const flights = new Flights<number>();
  const fail = () => Promise.reject(new Error("no"));
  await Promise.all([
    expect(flights.run("a", 5000, fail)).rejects.toThrow("no"),
    expect(flights.run("a", 5000, fail)).rejects.toThrow("no"),
  ]);
  expect(await flights.run("a", 5000, async () => 1)).toBe(1);
});

test("each waits its own time; the work goes on for those who have more", async () => {
  const flights = new Flights<number>();
  const work = deferred<number>();
  let signal: AbortSignal | undefined;
  const first = flights.run("a", 30, (given) => {
    signal = given;
    return work.promise;
  });
  const second = flights.run("a", 5000, () => Promise.reject(new Error("not shared")));
  await expect(first).rejects.toMatchObject({ code: "timeout" });
  expect(signal?.aborted).toBe(false);
  work.resolve(3);
  expect(await second).toBe(3);
});

test("the work ends with the last one who waits", async () => {
  const flights = new Flights<number>();
  await expect(flights.run("a", 20, untilAborted)).rejects.toThrow("aborted");
});

test("without time the work is aborted before it begins", async () => {
  const flights = new Flights<number>();
  let wasAborted = false;
  await expect(
    flights.run("a", 0, async (signal) => {
      wasAborted = signal.aborted;
      throw new Error("at once");
    }),
  ).rejects.toThrow("at once");
  expect(wasAborted).toBe(true);
});

test("stopping aborts all work and waits for its end", async () => {
  const flights = new Flights<number>();
  const running = [flights.run("a", 60_000, untilAborted), flights.run("b", 60_000, untilAborted)];
  const results = Promise.allSettled(running);
  await flights.stop();
  expect((await results).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});

test("who comes while work that was called off still ends begins again", async () => {
  const flights = new Flights<number>();
  const ending = deferred<number>();
  const first = expect(flights.run("a", 0, () => ending.promise)).rejects.toThrow("called off");
  const second = deferred<number>();
  const later = [flights.run("a", 5000, () => second.promise), flights.run("a", 5000, () => Promise.resolve(0))];
  ending.reject(new Error("called off"));
  await first;
  // The end of the first is not the end of the second: the third has joined it.
  later.push(flights.run("a", 5000, () => Promise.resolve(0)));
  second.resolve(2);
  expect(await Promise.all(later)).toEqual([2, 2, 2]);
});

test("nothing begins after the stop, and the stop waits for work that was called off before", async () => {
  const flights = new Flights<number>();
  const ending = deferred<number>();
  const first = expect(flights.run("a", 0, () => ending.promise)).rejects.toThrow();
  const second = expect(flights.run("a", 60_000, untilAborted)).rejects.toThrow("aborted");
  let stopped = false;
  const stopping = flights.stop().then(() => {
    stopped = true;
  });
  await second;
  expect(stopped).toBe(false);
  ending.reject(new Error("over"));
  await Promise.all([first, stopping]);
  let began = false;
  const late = flights.run("b", 5000, async () => {
    began = true;
    return 1;
  });
  await expect(late).rejects.toMatchObject({ code: "timeout" });
  expect(began).toBe(false);
});
