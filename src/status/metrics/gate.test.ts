import { expect, test } from "vitest";
import { createGate } from "./metrics-handler.ts";

test("the next in line enters, and those that give up are skipped", async () => {
  const gate = createGate(1);
  const patient = new AbortController();
  const leaver = new AbortController();
  expect(await gate.enter(patient.signal)).toBe(true);
  const order: string[] = [];
  const second = gate.enter(leaver.signal).then((entered) => void order.push(`second ${entered}`));
  const third = gate.enter(patient.signal).then((entered) => void order.push(`third ${entered}`));
  leaver.abort();
  await second;
  gate.leave();
  await third;
  expect(order).toEqual(["second false", "third true"]);
  gate.leave();
  expect(await gate.enter(patient.signal)).toBe(true);
  expect(await gate.enter(leaver.signal)).toBe(false);
});
