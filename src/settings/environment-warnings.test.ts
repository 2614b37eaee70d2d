import { expect, test } from "vitest";
import { environmentWarnings, withoutEffect } from "./environment-warnings.ts";

test("the warnings of every command cover all scalars but those read at first use", () => {
  const env = {
    SECRET_TTL: "1",
    DISABLE_ENVOY: "x",
    ENVOY_STATUS_PORT: "x",
    SECRET_GRACE_PERIOD_RATIO: "x",
    DNS_FORWARD_TIMEOUT: "x",
  };
  expect(environmentWarnings(env)).toEqual([
    "Invalid environment variable value `1`, expecting a duration, defaulting to 24h0m0s",
    "Invalid environment variable value `x`, expecting a floating-point value, defaulting to 0.5",
    "Invalid environment variable value `x`, expecting true/false, defaulting to false",
    "Invalid environment variable value `x`, expecting an integer, defaulting to 15021",
  ]);
});

test.each([
  { generation: undefined, warns: false },
  { generation: "1.8", warns: true },
  { generation: "0.1", warns: false },
])("of generation $generation, a variable only 1.8 reads is checked: $warns", ({ generation, warns }) => {
  expect(environmentWarnings({ PILOT_AGENT_GENERATION: generation, CALL_CREDENTIALS: "x" })).toHaveLength(
    warns ? 1 : 0,
  );
});

test("a variable without effect is named with what replaces it, in whichever generation", () => {
  expect(
    withoutEffect({ XDS_SAVE: "/tmp/x", INITIAL_BACKOFF_MSEC: "10", SKIP_PARSE_TOKEN: "", CA_ADDR: "a:1" }, "1.20"),
  ).toEqual([
    expect.stringMatching(/^INITIAL_BACKOFF_MSEC has no effect: certificate requests are retried/),
    "XDS_SAVE has no effect: XDS_LAST_GOOD records the configuration.",
  ]);
});

test.each([
  { generation: "1.7", lines: [] },
  {
    generation: "1.8",
    lines: ["PLUGINS has no effect in 1.8: CA_PROVIDER=GoogleCA and GoogleCAS trade the token by themselves"],
  },
  {
    generation: "master",
    lines: ["PLUGINS has no effect in master: CA_PROVIDER=GoogleCA and GoogleCAS trade the token by themselves"],
  },
] as const)("PLUGINS in $generation: $lines", ({ generation, lines }) => {
  expect(withoutEffect({ PLUGINS: "GoogleTokenExchange" }, generation)).toEqual(lines);
});
