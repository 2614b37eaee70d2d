import { expect, test } from "vitest";
import { recordingLogger } from "../../test/support/envoy/life.ts";
import { silentLogger } from "./logger.ts";
import { createReadiness } from "./readiness.ts";

test("without reasons and checks it is ready", async () => {
  expect(await createReadiness(silentLogger).reasons()).toEqual([]);
});

test("each reason counts until it is released, equal names apart", async () => {
  const readiness = createReadiness(silentLogger);
  const first = readiness.take("dns", "no name table yet");
  const second = readiness.take("dns");
  let progress = 1;
  const third = readiness.take("xds", () => `try ${progress}`);
  progress = 2;
  expect(await readiness.reasons()).toEqual(["dns: no name table yet", "dns", "xds: try 2"]);
  first.release();
  first.release();
  third.release();
  expect(await readiness.reasons()).toEqual(["dns"]);
  second.release();
  expect(await readiness.reasons()).toEqual([]);
});

test("all checks are asked and the first that objects is the answer; a throw is an objection", async () => {
  const readiness = createReadiness(silentLogger);
  const asked: string[] = [];
  let second: string | undefined = "not yet";
  readiness.addCheck("a", async () => void asked.push("a"));
  readiness.addCheck("b", async () => {
    asked.push("b");
    return second;
  });
  const remove = readiness.addCheck("c", async () => {
    throw new Error("broken");
  });
  expect(await readiness.reasons()).toEqual(["b: not yet"]);
  expect(asked).toEqual(["a", "b"]);
  second = undefined;
  expect(await readiness.reasons()).toEqual(["c: broken"]);
  remove();
  expect(await readiness.reasons()).toEqual([]);
});

test("no check waits for another", async () => {
  const readiness = createReadiness(silentLogger);
  let answer: (why: string) => void = () => undefined;
  readiness.addCheck("slow", () => new Promise((resolve) => (answer = resolve)));
  readiness.addCheck("quick", async () => {
    answer("answered after the other");
    return undefined;
  });
  expect(await readiness.reasons()).toEqual(["slow: answered after the other"]);
});

test("a reason makes checks unnecessary: Envoy is not asked while the agent drains", async () => {
  const readiness = createReadiness(silentLogger);
  readiness.addCheck("a", async () => expect.fail("asked"));
  readiness.take("draining");
  expect(await readiness.reasons()).toEqual(["draining"]);
});

test("every refusal is logged, readiness only when it is news", async () => {
  const log = recordingLogger();
  const readiness = createReadiness(log);
  let why: string | undefined = "workers have not yet started";
  readiness.addCheck("envoy", async () => why);
  await readiness.reasons();
  await readiness.reasons();
  why = undefined;
  await readiness.reasons();
  await readiness.reasons();
  readiness.take("draining", "SIGTERM");
  await readiness.reasons();
  expect(log.texts()).toEqual([
    "warn Envoy proxy is NOT ready: workers have not yet started",
    "warn Envoy proxy is NOT ready: workers have not yet started",
    "info Envoy proxy is ready",
    "warn Envoy proxy is NOT ready: draining: SIGTERM",
  ]);
});

test("a note is shown while it has a text and does not change the state", async () => {
  const readiness = createReadiness(silentLogger);
  let text: string | undefined = "serving last known good";
  readiness.addNote(() => text);
  expect(readiness.notes()).toEqual(["serving last known good"]);
  expect(await readiness.reasons()).toEqual([]);
  text = undefined;
  expect(readiness.notes()).toEqual([]);
});
