import fc from "fast-check";
import { expect, test } from "vitest";
import { envoyMessages, HTTP_WASM } from "../../../test/support/wasm/resources.ts";
import { memberBytes } from "../../protobuf/wire/edit-members.ts";
import { encodeStruct, type JsonObject } from "../../protobuf/wire/struct.ts";
import { WasmError } from "../wasm-error.ts";
import { encodeWasmJson } from "./wasm-filter.ts";

const codec = envoyMessages.codec("envoy.extensions.filters.http.wasm.v3.Wasm");
const STRING = "type.googleapis.com/google.protobuf.StringValue";

/** Everything the .proto files at hand know. */
const full: JsonObject = {
  config: {
    name: "plugin",
    root_id: "root",
    vm_config: {
      vm_id: "vm",
      runtime: "envoy.wasm.runtime.v8",
      code: {
        remote: {
          http_uri: { uri: "https://x/m.wasm", cluster: "c", timeout: "1.5s" },
          sha256: "abc",
          retry_policy: {
            retry_back_off: { base_interval: "1.25s", max_interval: "10.5s" },
            num_retries: 3,
            retry_on: "5xx",
          },
        },
      },
      configuration: { "@type": STRING, value: "vm" },
      allow_precompiled: true,
      nack_on_code_cache_miss: true,
      environment_variables: { host_env_keys: ["A", ""], key_values: { K: "v", EMPTY: "" } },
    },
    configuration: { "@type": STRING, value: '{"a": 1}' },
    fail_open: true,
    capability_restriction_config: { allowed_capabilities: { proxy_log: {} } },
  },
};

test("the JSON of a whole filter gives what another implementation makes of it", () => {
  const foreign = codec.decode(Buffer.from(envoyMessages.packAny({ "@type": HTTP_WASM, ...full }).value));
  expect(codec.decode(encodeWasmJson(full))).toEqual(foreign);
});

test("a plugin's configuration may be any JSON object", () => {
  const value = { a: [1, { b: null }] };
  const bytes = encodeWasmJson({
    config: { configuration: { "@type": "type.googleapis.com/google.protobuf.Struct", value } },
  });
  expect(bytes.includes(encodeStruct(value))).toBe(true);
});

test("camel case names mean the same", () => {
  const camel = JSON.parse(JSON.stringify(full), (_key, value) => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        /^(proxy_log|@type)$/.test(name) ? name : name.replace(/_(\w)/g, (_all, letter) => letter.toUpperCase()),
        member,
      ]),
    );
  });
  expect(encodeWasmJson(camel).equals(encodeWasmJson(full))).toBe(true);
});

test("fields that are newer than the .proto files at hand are encoded by number", () => {
  const bytes = encodeWasmJson({
    config: {
      failure_policy: "FAIL_OPEN",
      reload_config: { backoff: { base_interval: "1s" } },
      allow_on_headers_stop_iteration: true,
    },
  });
  // config { failure_policy(7): 3, reload_config(8) { backoff(1) { base_interval(1) { seconds: 1 } } }, allow(9) { value: true } }
  expect(bytes.toString("hex")).toBe("0a0e380342060a040a0208014a020801");
});

test.each([
  { value: { config: { failure_policy: 3 } }, hex: "0a023803" },
  { value: { config: { failure_policy: "UNSPECIFIED", name: "" } }, hex: "0a00" },
  { value: { config: { name: null } }, hex: "0a00" },
  { value: {}, hex: "" },
])("$value is $hex", ({ value, hex }) => {
  expect(encodeWasmJson(value).toString("hex")).toBe(hex);
});

test.each([
  { value: { configs: {} }, error: 'value.configs: unknown field "configs" in wasm' },
  { value: { config: "text" }, error: "value.config: expected an object (plugin config), found a string" },
  { value: { config: [] }, error: "expected an object (plugin config), found a list" },
  { value: { config: { fail_open: "true" } }, error: "expected true or false, found a string" },
  { value: { config: { failure_policy: "MAYBE" } }, error: "unknown value a string; allowed: UNSPECIFIED" },
  { value: { config: { failure_policy: 1.5 } }, error: "unknown value a number" },
  {
    value: { config: { name: "a", vm_config: { code: { local: {}, remote: {} } } } },
    error: "only one of local, remote",
  },
  { value: { config: { root_id: "a", rootId: "b" } }, error: "second time" },
  {
    value: { config: { vm_config: { code: { remote: { http_uri: { timeout: "5m" } } } } } },
    error: "expected a duration",
  },
  {
    value: { config: { vm_config: { code: { remote: { http_uri: { timeout: 5 } } } } } },
    error: "expected a duration",
  },
  { value: { config: { vm_config: { code: { local: { inline_bytes: "***" } } } } }, error: "bytes must be base64" },
  { value: { config: { vm_config: { environment_variables: { host_env_keys: "PATH" } } } }, error: "expected a list" },
  { value: { config: { configuration: { a: 1 } } }, error: '["@type"]' },
  {
    value: { config: { configuration: { "@type": "type.googleapis.com/a.B" } } },
    error: "no message is known by the name a.B",
  },
  { value: { config: { configuration: { "@type": STRING, value: 1 } } }, error: "expected text, found a number" },
  { value: { config: { configuration: { "@type": STRING, value: "a", more: 1 } } }, error: 'unknown field "more"' },
])("$value is refused", ({ value, error }) => {
  expect(() => encodeWasmJson(value)).toThrow(error);
});

/** The value of the Any that a plugin's configuration becomes. */
function configured(type: string, value: JsonObject): string {
  const bytes = encodeWasmJson({ config: { configuration: { "@type": type, ...value } } });
  const packed = memberBytes(memberBytes(bytes, 1) ?? Buffer.alloc(0), 4) ?? Buffer.alloc(0);
  expect(memberBytes(packed, 1)?.toString()).toBe(type);
  return (memberBytes(packed, 2) ?? Buffer.alloc(0)).toString("hex");
}

test.each([
  { type: "StringValue", value: "a", hex: "0a0161" },
  { type: "StringValue", value: "", hex: "" },
  { type: "BytesValue", value: "_-8", hex: "0a02ffef" },
  { type: "BytesValue", value: "", hex: "" },
  { type: "BoolValue", value: false, hex: "" },
  { type: "UInt32Value", value: "4294967295", hex: "08ffffffff0f" },
  { type: "Int32Value", value: -1, hex: "08ffffffffffffffffff01" },
  { type: "Int64Value", value: "9007199254740993", hex: "088180808080808010" },
  { type: "Int64Value", value: "1e2", hex: "0864" },
  { type: "Int64Value", value: "2.0", hex: "0802" },
  { type: "UInt64Value", value: "18446744073709551615", hex: "08ffffffffffffffffff01" },
  { type: "DoubleValue", value: 0, hex: "" },
  { type: "DoubleValue", value: "-Infinity", hex: "09000000000000f0ff" },
  { type: "DoubleValue", value: "1.5", hex: "09000000000000f83f" },
  { type: "FloatValue", value: 1.5, hex: "0d0000c03f" },
  { type: "FloatValue", value: "Infinity", hex: "0d0000807f" },
  { type: "ListValue", value: [true, "a"], hex: "0a0220010a031a0161" },
  { type: "ListValue", value: [], hex: "" },
  { type: "Duration", value: "-1.5s", hex: "08ffffffffffffffffff011080b6ca91feffffffff01" },
  { type: "Duration", value: "+.5s", hex: "1080cab5ee01" },
  { type: "Duration", value: "2.s", hex: "0802" },
  { type: "Empty", value: {}, hex: "" },
])("$value as the configuration of type $type is $hex", ({ type, value, hex }) => {
  expect(configured(`type.googleapis.com/google.protobuf.${type}`, { value })).toBe(hex);
});

test.each([
  "example.com/google.protobuf.StringValue",
  "google.protobuf.StringValue",
  "a/b/google.protobuf.StringValue",
])("%s is known by its last part and stays as it is", (type) => {
  expect(configured(type, { value: "a" })).toBe("0a0161");
});

test("a configuration may be empty, or an Any in an Any", () => {
  expect(encodeWasmJson({ config: { configuration: {} } }).toString("hex")).toBe("0a022200");
  expect(configured("type.googleapis.com/google.protobuf.Empty", {})).toBe("");
  const inner = { "@type": "google.protobuf.BoolValue", value: true };
  const hex = configured("type.googleapis.com/google.protobuf.Any", { value: inner });
  expect(hex).toBe(`0a19${Buffer.from("google.protobuf.BoolValue").toString("hex")}12020801`);
});

test("a policy by a number that has no name yet is carried along", () => {
  expect(encodeWasmJson({ config: { failure_policy: 33 } }).toString("hex")).toBe("0a023821");
  expect(encodeWasmJson({ config: { failure_policy: -1 } }).toString("hex")).toBe("0a0b38ffffffffffffffffff01");
});

test.each([
  { type: "StringValue", value: undefined, error: 'no "value"' },
  { type: "StringValue", value: null, error: "expected text, found null" },
  { type: "UInt64Value", value: -1, error: "expected a number from 0 to 18446744073709551615" },
  { type: "UInt64Value", value: "18446744073709551616", error: "expected a number from" },
  { type: "Int32Value", value: 3_000_000_000, error: "expected a number from" },
  { type: "UInt32Value", value: 1.5, error: "expected a whole number" },
  { type: "Int64Value", value: "007", error: "expected a number, found a string" },
  { type: "Int64Value", value: " 1", error: "expected a number, found a string" },
  { type: "Int64Value", value: "1e400", error: "expected a number from" },
  { type: "FloatValue", value: 1e300, error: "expected a number from" },
  { type: "DoubleValue", value: "nan", error: "expected a number, found a string" },
  { type: "ListValue", value: {}, error: "expected a list" },
  { type: "Duration", value: ".s", error: "expected a duration" },
  { type: "Duration", value: "s", error: "expected a duration" },
  { type: "Duration", value: "315576000001s", error: "expected a duration" },
  { type: "Duration", value: "1.0000000001s", error: "expected a duration" },
  { type: "Empty", value: { a: 1 }, error: 'unknown field "a" in empty' },
])("$value is not a configuration of type $type", ({ type, value, error }) => {
  const configuration = {
    "@type": `type.googleapis.com/google.protobuf.${type}`,
    ...(value !== undefined && { value: value as JsonObject }),
  };
  expect(() => encodeWasmJson({ config: { configuration } })).toThrow(error);
});

test("a wrong value is never repeated in the error: it may be secret", () => {
  const value = { config: { vm_config: { environment_variables: { key_values: { TOKEN: ["s3cret"] } } } } };
  expect(() => encodeWasmJson(value)).toThrow(/key_values\.TOKEN: expected text, found a list$/);
});

test("any JSON object is encoded or refused with a coded error", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom("config", "x"), fc.jsonValue()), (value) => {
      try {
        encodeWasmJson(value as JsonObject);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(WasmError);
      }
    }),
  );
});
