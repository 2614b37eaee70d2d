import { expect, test } from "vitest";
import { OtlpError } from "./export-answer.ts";
import { nextExportMs } from "./next-export.ts";

const MINUTE = 60_000;
const retryable = new OtlpError("retryable", "");
const asked = new OtlpError("retryable", "", { retryAfterMs: 7000 });
const patient = new OtlpError("retryable", "", { retryAfterMs: 60 * MINUTE });
const permanent = new OtlpError("permanent", "");
const partial = new OtlpError("partial", "");

test.each([
  { what: "a collector that is away", failure: retryable, waits: [1000, 2000, 4000, 8000] },
  { what: "a connection that fails", failure: new Error("ECONNREFUSED"), waits: [1000, 2000] },
  { what: "a collector that asks for 7 s", failure: asked, waits: [7000, 7000, 7000, 8000] },
  { what: "a collector that asks for an hour", failure: patient, waits: [5 * MINUTE] },
  { what: "a collector that refuses for good", failure: permanent, waits: [MINUTE, 2 * MINUTE, 4 * MINUTE] },
  { what: "a collector that takes a part", failure: partial, waits: [MINUTE, MINUTE, MINUTE] },
])("after $what the next export of a minute's interval waits $waits ms", ({ failure, waits }) => {
  expect(waits.map((_, at) => nextExportMs(failure, at + 1, MINUTE, () => 0.5))).toEqual(waits);
});

test("waits end at five minutes, or at the interval when that is longer", () => {
  expect(nextExportMs(retryable, 30, MINUTE, () => 0.5)).toBe(5 * MINUTE);
  expect(nextExportMs(permanent, 30, 10 * MINUTE, () => 0.5)).toBe(10 * MINUTE);
});
