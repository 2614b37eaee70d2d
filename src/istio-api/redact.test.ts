import { expect, test } from "vitest";
import { isSecretField, redactConfigText } from "./redact.ts";

test.each([
  "tracing: {lightstep: {address: a:1, accessToken: s3cret}}",
  'tracing:\n  lightstep:\n    accessToken: "s3cret\\" more s3cret"\n    address: a:1',
  "tracing:\n  lightstep:\n    access_token: 's3cret it''s'\n    address: a:1",
  "lightstep:\n  accessToken: s3cret with blanks\n  address: a:1",
  "lightstep:\n  accessToken: |\n    s3cret\n    s3cret\naddress: a:1",
  "lightstep:\n  accessToken:\n    s3cret\n  address: a:1",
  '{"tracing":{"lightstep":{"accessToken":"s3cret","address":"a:1"}}}',
  '{"accessToken" : "s3cret", "address":"a:1"}',
])("%s", (text) => {
  const shown = redactConfigText(text);
  expect(shown).not.toContain("s3cret");
  expect(shown).toContain("[redacted]");
  expect(shown).toMatch(/address"?: ?"?a:1/);
});

test("text without tokens is unchanged", () => {
  expect(redactConfigText("discoveryAddress: a:1\nmeshId: accessToken")).toBe(
    "discoveryAddress: a:1\nmeshId: accessToken",
  );
});

test("secret fields are known by path", () => {
  expect(["tracing.lightstep.accessToken", "access_token", "tracing.lightstep.address"].map(isSecretField)).toEqual([
    true,
    true,
    false,
  ]);
});
