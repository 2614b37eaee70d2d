import { expect, test } from "vitest";
import { createEnvReader, type Environment } from "./env-reader.ts";
import type { Generation } from "./generations.ts";

function read(env: Environment, generation: Generation = "master") {
  const warnings: string[] = [];
  return { env: createEnvReader(env, generation, (text) => warnings.push(text)), warnings };
}

test("an absent string is its default and a present empty one is empty", () => {
  expect(read({}).env.string("JWT_POLICY")).toBe("third-party-jwt");
  expect(read({ JWT_POLICY: "" }).env.string("JWT_POLICY")).toBe("");
});

test.each(["1", "t", "T", "TRUE", "true", "True"])("%s is true", (text) => {
  const { env, warnings } = read({ DISABLE_ENVOY: text });
  expect(env.bool("DISABLE_ENVOY")).toBe(true);
  expect(warnings).toEqual([]);
});

test.each(["0", "f", "F", "FALSE", "false", "False"])("%s is false", (text) => {
  expect(read({ PKCS8_KEY: text, XDS_AUTH: text }).env.bool("XDS_AUTH")).toBe(false);
});

test.each([
  { value: "", shown: "`` " },
  { value: "yes", shown: "`yes`" },
  { value: "tRUE", shown: "`tRUE`" },
  { value: " true", shown: "` true`" },
])("the boolean $shown warns and takes the default", ({ value }) => {
  const { env, warnings } = read({ XDS_AUTH: value });
  expect(env.bool("XDS_AUTH")).toBe(true);
  expect(warnings).toEqual([
    `Invalid environment variable value \`${value}\`, expecting true/false, defaulting to true`,
  ]);
});

test.each([
  { value: "7", reads: 7 },
  { value: "-7", reads: -7 },
  { value: "+7", reads: 7 },
  { value: "007", reads: 7 },
])("the integer $value is $reads", ({ value, reads }) => {
  expect(read({ ENVOY_STATUS_PORT: value }).env.int("ENVOY_STATUS_PORT")).toBe(reads);
});

test.each(["", "0x10", " 1", "1 ", "1.0", "1e3", "1_000", "9223372036854775808"])(
  "the integer %j warns and takes the default",
  (value) => {
    const { env, warnings } = read({ ENVOY_STATUS_PORT: value });
    expect(env.int("ENVOY_STATUS_PORT")).toBe(15021);
    expect(warnings).toEqual([
      `Invalid environment variable value \`${value}\`, expecting an integer, defaulting to 15021`,
    ]);
  },
);

test.each([
  { value: "0.25", reads: 0.25 },
  { value: ".5", reads: 0.5 },
  { value: "1e-1", reads: 0.1 },
  { value: "-Inf", reads: Number.NEGATIVE_INFINITY },
  { value: "+infinity", reads: Number.POSITIVE_INFINITY },
  { value: "nan", reads: Number.NaN },
])("the float $value is $reads", ({ value, reads }) => {
  expect(read({ SECRET_GRACE_PERIOD_RATIO: value }).env.float("SECRET_GRACE_PERIOD_RATIO")).toBe(reads);
});

test.each(["", "half", "0,5", "1e999"])("the float %j warns and takes the default", (value) => {
  const { env, warnings } = read({ SECRET_GRACE_PERIOD_RATIO: value });
  expect(env.float("SECRET_GRACE_PERIOD_RATIO")).toBe(0.5);
  expect(warnings).toEqual([
    `Invalid environment variable value \`${value}\`, expecting a floating-point value, defaulting to 0.5`,
  ]);
});

test("a duration is read in milliseconds", () => {
  expect(read({ SECRET_TTL: "1h30m" }).env.durationMs("SECRET_TTL")).toBe(5_400_000);
  expect(read({ FILE_DEBOUNCE_DURATION: "1500us" }).env.durationMs("FILE_DEBOUNCE_DURATION")).toBe(1.5);
});

test.each(["86400", "", "1d", "one hour"])("the duration %j warns with the default in Go form", (value) => {
  const { env, warnings } = read({ SECRET_TTL: value });
  expect(env.durationMs("SECRET_TTL")).toBe(86_400_000);
  expect(warnings).toEqual([
    `Invalid environment variable value \`${value}\`, expecting a duration, defaulting to 24h0m0s`,
  ]);
});

test.each([
  { value: "x", problem: "invalid character 'x' looking for beginning of value" },
  { value: "", problem: "unexpected end of JSON input" },
  { value: "12a", problem: "invalid character 'a' after top-level value" },
  { value: "1.5", problem: "json: cannot unmarshal number 1.5 into Go value of type int64" },
  { value: '"5"', problem: "json: cannot unmarshal string into Go value of type int64" },
  { value: "[1]", problem: "json: cannot unmarshal array into Go value of type int64" },
])("the JSON integer $value warns: $problem", ({ value, problem }) => {
  const { env, warnings } = read({ ISTIO_WASM_MAX_BINARY_SIZE_BYTES: value });
  expect(env.int("ISTIO_WASM_MAX_BINARY_SIZE_BYTES")).toBe(268435456);
  expect(warnings).toEqual([`Invalid environment variable value \`${value}\` defaulting to 268435456: ${problem}`]);
});

test("a JSON integer may have blanks around it", () => {
  expect(read({ ISTIO_WASM_MAX_BINARY_SIZE_BYTES: " 5 " }).env.int("ISTIO_WASM_MAX_BINARY_SIZE_BYTES")).toBe(5);
});

test("a bad value warns once however often it is read", () => {
  const { env, warnings } = read({ DISABLE_ENVOY: "maybe" });
  env.bool("DISABLE_ENVOY");
  env.bool("DISABLE_ENVOY");
  expect(warnings).toHaveLength(1);
});

test("a variable set to an invalid value counts as set, with its default as value", () => {
  const { env } = read({ PEER_METADATA_DISCOVERY: "perhaps" });
  expect([env.isSet("PEER_METADATA_DISCOVERY"), env.bool("PEER_METADATA_DISCOVERY")]).toEqual([true, false]);
  expect(read({}).env.isSet("PEER_METADATA_DISCOVERY")).toBe(false);
});

test("defaults follow the generation", () => {
  expect(read({}, "master").env.bool("ISTIO_DELTA_XDS")).toBe(true);
  expect(read({}, "1.20").env.bool("ISTIO_DELTA_XDS")).toBe(false);
  expect(read({}, "1.7").env.string("TRUST_DOMAIN")).toBe("");
});

test("a variable of another generation is as good as absent and does not warn", () => {
  const { env, warnings } = read({ TERMINATION_DRAIN_DURATION_SECONDS: "x", CALL_CREDENTIALS: "x" });
  expect(env.isSet("TERMINATION_DRAIN_DURATION_SECONDS")).toBe(false);
  expect(env.bool("CALL_CREDENTIALS")).toBe(false);
  expect(env.applies("CALL_CREDENTIALS")).toBe(false);
  expect(warnings).toEqual([]);
  expect(read({ CALL_CREDENTIALS: "true" }, "1.8").env.bool("CALL_CREDENTIALS")).toBe(true);
});

test("headers are collected by prefix, name as written, value after the first equals sign", () => {
  const { env } = read({ CA_HEADER_FOO: "foo", CA_HEADER_BAZ: "=baz", XDS_HEADER_BAR: "bar" });
  expect(env.withPrefix("CA_HEADER_")).toEqual({ FOO: "foo", BAZ: "=baz" });
  expect(env.withPrefix("XDS_HEADER_")).toEqual({ BAR: "bar" });
  expect(read({ CA_HEADER_FOO: "foo" }, "1.20").env.withPrefix("CA_HEADER_")).toEqual({});
});
