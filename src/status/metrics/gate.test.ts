import { expect, test } from "vitest";
import { createGate } from "./gate.ts";

test("places go to the next in line, and those who give up are passed over", async () => {
  const gate = createGate(1);
  const nobody = new AbortController();
  const leaver = new AbortController();
  expect(await gate.enter(nobody.signal)).toBe(true);
  const order: string[] = [];
  const second = gate.enter(leaver.signal).then((entered) => void order.push(`second ${entered}`));
  const third = gate.enter(nobody.signal).then((entered) => void order.push(`third ${entered}`));
  leaver.abort();
  await second;
  gate.leave();
  await third;
  expect(order).toEqual(["second false", "third true"]);
  gate.leave();
  expect(await gate.enter(nobody.signal)).toBe(true);
  expect(await gate.enter(leaver.signal)).toBe(false);
});
