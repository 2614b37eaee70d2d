import { expect, test } from "vitest";
import { Metadata } from "../../grpc/metadata.ts";
import { legacyOutcome, legacyVersion, missingToken } from "./legacy-rules.ts";

test.each([
  { rule: "one name is answered", names: ["a"], version: "", current: undefined, is: { action: "reply", name: "a" } },
  {
    rule: "the current version is an acknowledgement",
    names: ["a"],
    version: "v1",
    current: "v1",
    is: { action: "silent" },
  },
  {
    rule: "an older version is answered",
    names: ["a"],
    version: "v0",
    current: "v1",
    is: { action: "reply", name: "a" },
  },
  { rule: "no name is silence", names: [], version: "", current: undefined, is: { action: "silent" } },
])("$rule", ({ names, version, current, is }) => {
  expect(legacyOutcome({ names, version, isNack: false }, current)).toEqual(is);
});

test("two names end the stream, a rejection is silence", () => {
  expect(legacyOutcome({ names: ["a", "b"], version: "", isNack: false }, undefined)).toMatchObject({ action: "fail" });
  expect(legacyOutcome({ names: ["a"], version: "", isNack: true }, undefined)).toEqual({ action: "silent" });
});

test.each([
  { what: "a bearer token", metadata: { authorization: "Bearer x" }, missing: false },
  {
    what: "a token of its own header",
    metadata: { "istio_sds_credentials_header-bin": Buffer.from("x") },
    missing: false,
  },
  { what: "nothing", metadata: {}, missing: true },
  { what: "two tokens", metadata: { authorization: ["a", "b"] }, missing: true },
  { what: "an empty token", metadata: { authorization: "" }, missing: true },
])("$what in the metadata is enough: not $missing", ({ metadata, missing }) => {
  expect(missingToken(Metadata.from(metadata)) !== undefined).toBe(missing);
});

test("a version is the month, day and time of day of its making", () => {
  expect(legacyVersion(Date.UTC(2026, 2, 1, 12, 34, 56, 7))).toBe("03-01 12:34:56.007");
});
