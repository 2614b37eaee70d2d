import fc from "fast-check";
import { expect, test } from "vitest";
import { envoyMessages, HTTP_WASM } from "../../../test/support/wasm-resources.ts";
import { encodeStruct, type JsonObject } from "../../protocol/protobuf/struct.ts";
import { WasmError } from "../wasm-error.ts";
import { encodeWasmJson } from "./wasm-json.ts";

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
  { value: { configs: {} }, error: 'unknown field "configs" in Wasm' },
  { value: { config: "text" }, error: "value.config: a string is no object" },
  { value: { config: [] }, error: "a list is no object" },
  { value: { config: { fail_open: "true" } }, error: "neither true nor false" },
  { value: { config: { failure_policy: "MAYBE" } }, error: "is none of UNSPECIFIED" },
  { value: { config: { failure_policy: 1.5 } }, error: "no integer" },
  { value: { config: { name: "a", vm_config: { code: { local: {}, remote: {} } } } }, error: "second time" },
  { value: { config: { root_id: "a", rootId: "b" } }, error: "second time" },
  { value: { config: { vm_config: { code: { remote: { http_uri: { timeout: "5m" } } } } } }, error: "no duration" },
  { value: { config: { vm_config: { code: { remote: { http_uri: { timeout: 5 } } } } } }, error: "no string" },
  { value: { config: { vm_config: { code: { local: { inline_bytes: "***" } } } } }, error: "not base64" },
  { value: { config: { vm_config: { environment_variables: { host_env_keys: "PATH" } } } }, error: "no list" },
  { value: { config: { configuration: {} } }, error: '["@type"]' },
  { value: { config: { configuration: { "@type": "type.googleapis.com/a.B" } } }, error: "unable to resolve" },
  { value: { config: { configuration: { "@type": STRING, value: 1 } } }, error: "a number is no string" },
  { value: { config: { configuration: { "@type": STRING, value: "a", more: 1 } } }, error: 'unknown field "more"' },
])("$value is refused", ({ value, error }) => {
  expect(() => encodeWasmJson(value)).toThrow(error);
});

test("a wrong value is never repeated in the error: it may be secret", () => {
  const value = { config: { vm_config: { environment_variables: { key_values: { TOKEN: ["s3cret"] } } } } };
  expect(() => encodeWasmJson(value)).toThrow(/\["TOKEN"\]: a list is no string/);
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
