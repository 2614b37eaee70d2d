import { describe, expect, test } from "vitest";
import {
  decodeExtensions,
  envoyMessages,
  extension,
  extensionResponse,
  HTTP_WASM,
  NETWORK_WASM,
  remoteExtension,
  remoteWasm,
  type WasmResource,
} from "../../test/support/wasm/resources.ts";
import { silentLogger } from "../base/logger.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { deltaDiscoveryResponse } from "../protobuf/wire/discovery.ts";
import { type ConvertedResponse, convertResponse } from "./convert-response.ts";
import { FALLBACK_RULES, type FallbackRules } from "./core/generations.ts";
import type { RemoteModule } from "./core/remote-module.ts";
import { declareWasmMetrics } from "./metrics.ts";
import { WasmError } from "./wasm-error.ts";

const UDPA_STRUCT = "type.googleapis.com/udpa.type.v1.TypedStruct";
const XDS_STRUCT = "type.googleapis.com/xds.type.v3.TypedStruct";
const HTTP_RBAC = "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC";
const NETWORK_RBAC = "type.googleapis.com/envoy.extensions.filters.network.rbac.v3.RBAC";

async function run(
  kind: "sotw" | "delta",
  extensions: readonly Buffer[],
  rules: FallbackRules = FALLBACK_RULES.master,
) {
  const registry = new MetricRegistry();
  const asked: RemoteModule[] = [];
  const errors: string[] = [];
  const result = await convertResponse({
    kind,
    message: extensionResponse(kind, extensions),
    rules,
    metrics: declareWasmMetrics(registry),
    log: { ...silentLogger, error: (text) => void errors.push(text) },
    load: async (module) => {
      asked.push(module);
      if (module.url.includes("bad")) throw new WasmError("unreachable", `no ${module.url}`);
      return `/data/${module.resourceName}.wasm`;
    },
  });
  return { result, asked, errors, metrics: registry.render() };
}

const messageOf = (result: ConvertedResponse) => ("message" in result ? result.message : Buffer.alloc(0));
const typedStruct = (type: string, inner: string, value: object): Buffer =>
  extension("e", { type, value: Buffer.from(envoyMessages.packAny({ "@type": type, type_url: inner, value }).value) });
const withCode = (code: object) => ({
  config: { name: "plugin", vm_config: { runtime: "envoy.wasm.runtime.v8", code } },
});
const good: WasmResource = { name: "good", url: "https://x/good.wasm" };

describe.each(["sotw", "delta"] as const)("%s", (kind) => {
  test.each([
    { what: "an HTTP filter", built: remoteExtension({ name: "e", url: "https://x/m" }), type: HTTP_WASM },
    {
      what: "a network filter",
      built: remoteExtension({ name: "e", url: "https://x/m", filter: NETWORK_WASM }),
      type: NETWORK_WASM,
    },
    {
      what: "a udpa TypedStruct with underscores",
      built: typedStruct(
        UDPA_STRUCT,
        HTTP_WASM,
        withCode({ remote: { http_uri: { uri: "https://x/m", timeout: "10s" } } }),
      ),
      type: HTTP_WASM,
    },
    {
      what: "a udpa TypedStruct in camel case",
      built: typedStruct(UDPA_STRUCT, NETWORK_WASM, {
        config: { name: "plugin", vmConfig: { code: { remote: { httpUri: { uri: "https://x/m", timeout: "10s" } } } } },
      }),
      type: NETWORK_WASM,
    },
    {
      what: "an xds TypedStruct",
      built: typedStruct(
        XDS_STRUCT,
        HTTP_WASM,
        withCode({ remote: { http_uri: { uri: "https://x/m", timeout: "10s" } } }),
      ),
      type: HTTP_WASM,
    },
  ])("$what with remote code becomes a plain filter with a file", async ({ built, type }) => {
    const { result, asked, metrics } = await run(kind, [built]);
    expect(asked).toMatchObject([{ url: "https://x/m", timeoutMs: 10_000, checksum: "", resourceName: "e" }]);
    expect(decodeExtensions(kind, messageOf(result))).toMatchObject([
      {
        name: "e",
        type,
        config: { config: { name: "plugin", vm_config: { code: { local: { filename: "/data/e.wasm" } } } } },
      },
    ]);
    expect(metrics).toContain('wasm_config_conversion_count{result="success"} 1');
  });

  test.each([
    {
      what: "an empty Struct",
      built: extension("e", { type: "type.googleapis.com/google.protobuf.Struct", value: Buffer.alloc(0) }),
    },
    {
      what: "a TypedStruct of another type",
      built: typedStruct(UDPA_STRUCT, "type.googleapis.com/some.other.Filter", {}),
    },
    {
      what: "local inline code",
      built: extension("e", {
        type: HTTP_WASM,
        value: Buffer.from(
          envoyMessages.packAny({ "@type": HTTP_WASM, ...withCode({ local: { inline_string: "null.vm" } }) }).value,
        ),
      }),
    },
  ])("$what passes unchanged, byte by byte", async ({ built }) => {
    const { result, asked, metrics } = await run(kind, [built]);
    expect(messageOf(result).equals(extensionResponse(kind, [built]))).toBe(true);
    expect(asked).toEqual([]);
    expect(metrics).toContain('wasm_config_conversion_count{result="no_remote_load"} 1');
  });

  test.each([
    {
      what: "no typed config",
      built: extension("e1", undefined),
      refusal: 'typed extension config name:"e1" does not contain any typed config',
    },
    {
      what: "an empty Wasm message",
      built: extension("e1", { type: HTTP_WASM, value: Buffer.alloc(0) }),
      refusal: "no remote and local load found in Wasm HTTP filter e1",
    },
    {
      what: "code that is neither local nor remote",
      built: extension("e1", {
        type: NETWORK_WASM,
        value: Buffer.from(envoyMessages.packAny({ "@type": NETWORK_WASM, ...withCode({}) }).value),
      }),
      refusal: "no remote and local load found in Wasm Network filter e1",
    },
    {
      what: "bytes of another message",
      built: extension("e1", { type: HTTP_WASM, value: Buffer.from("\n\u0005hello") }),
      refusal: "failed to unmarshal e1",
    },
    {
      what: "an unknown field in a TypedStruct",
      built: typedStruct(UDPA_STRUCT, HTTP_WASM, { config: { vm_config: { codes: {} } } }),
      refusal: 'value.config.vm_config.codes: unknown field "codes" in vm config',
    },
    {
      what: "a wrong value in a TypedStruct",
      built: typedStruct(UDPA_STRUCT, HTTP_WASM, { config: { vm_config: { runtime: 3 } } }),
      refusal: "value.config.vm_config.runtime: expected text, found a number",
    },
  ])("$what refuses the whole response", async ({ built, refusal }) => {
    const { result, metrics } = await run(kind, [remoteExtension(good), built]);
    expect(result).toEqual({ refusal: expect.stringContaining(refusal) });
    expect(metrics).toContain('wasm_config_conversion_count{result="unmarshal_failure"} 1');
  });

  test("several mistakes are reported together, in the order of the resources", async () => {
    const { result } = await run(kind, [extension("a", undefined), remoteExtension(good), extension("b", undefined)]);
    const text = (name: string) => `typed extension config name:"${name}" does not contain any typed config`;
    expect(result).toEqual({ refusal: `2 errors occurred:\n\t* ${text("a")}\n\t* ${text("b")}\n` });
  });

  test.each([
    { filter: HTTP_WASM, failOpen: true, type: HTTP_RBAC, config: { rules_stat_prefix: "wasm-default-allow" } },
    {
      filter: HTTP_WASM,
      failOpen: false,
      type: HTTP_RBAC,
      config: { rules: {}, rules_stat_prefix: "wasm-default-deny" },
    },
    { filter: NETWORK_WASM, failOpen: true, type: NETWORK_RBAC, config: { stat_prefix: "wasm-default-allow" } },
    {
      filter: NETWORK_WASM,
      failOpen: false,
      type: NETWORK_RBAC,
      config: { rules: {}, stat_prefix: "wasm-default-deny" },
    },
    { filter: HTTP_WASM, failurePolicy: 3, type: HTTP_RBAC, config: { rules_stat_prefix: "wasm-default-allow" } },
    {
      filter: HTTP_WASM,
      failurePolicy: 2,
      failOpen: true,
      type: HTTP_RBAC,
      config: { rules: {}, rules_stat_prefix: "wasm-default-deny" },
    },
    {
      filter: HTTP_WASM,
      failurePolicy: 1,
      failOpen: true,
      type: HTTP_RBAC,
      config: { rules: {}, rules_stat_prefix: "wasm-default-deny" },
    },
  ])(
    "a failing module of $filter (open $failOpen, policy $failurePolicy) is replaced, its neighbour is not",
    async (row) => {
      const { filter, failOpen, failurePolicy, type, config } = row;
      const failing = {
        name: "e",
        url: "https://x/bad",
        filter,
        ...(failOpen !== undefined && { failOpen }),
        ...(failurePolicy !== undefined && { failurePolicy }),
      };
      const { result, metrics } = await run(kind, [remoteExtension(failing), remoteExtension(good)]);
      const [first, second] = decodeExtensions(kind, messageOf(result));
      expect(first).toMatchObject({ name: "e", type });
      expect(plain(first?.config)).toEqual(config);
      expect(second).toMatchObject({ type: HTTP_WASM, config: { config: { vm_config: { code: { local: {} } } } } });
      expect(metrics).toContain('wasm_config_conversion_count{result="fetch_failure"} 1');
    },
  );

  test("a remote source without address is denied and counted as such", async () => {
    const { result, asked, metrics } = await run(kind, [remoteExtension({ name: "e" })]);
    expect(decodeExtensions(kind, messageOf(result))).toMatchObject([{ name: "e", type: HTTP_RBAC }]);
    expect(asked).toEqual([]);
    expect(metrics).toContain('wasm_config_conversion_count{result="miss_remote_fetch_hint"} 1');
  });

  test("the rules of 1.20: allow without a prefix, and a module that fails closed refuses the response", async () => {
    const open = { name: "e", url: "https://x/bad", failOpen: true };
    const allowed = await run(kind, [remoteExtension(open)], FALLBACK_RULES["1.20"]);
    expect(plain(decodeExtensions(kind, messageOf(allowed.result))[0]?.config)).toEqual({});
    const closed = await run(
      kind,
      [remoteExtension({ ...open, failOpen: false }), remoteExtension(good)],
      FALLBACK_RULES["1.20"],
    );
    const refusal = "cannot fetch Wasm module https://x/bad: no https://x/bad";
    expect(closed.result).toEqual({ refusal });
    expect(closed.errors).toEqual([`error in applying failopen rbac config: ${refusal}`]);
  });

  test.each([
    [true, "allow"],
    [false, "deny"],
  ])("a module that cannot be had is reported once, with what stands in (fail open: %s)", async (failOpen, effect) => {
    const { errors } = await run(kind, [remoteExtension({ name: "e", url: "https://u:pw@x/bad", failOpen })]);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(/^error in converting the wasm config to local: cannot fetch Wasm module https:\/\//);
    expect(errors[0]).toMatch(new RegExp(`applying ${effect} RBAC filter$`));
    expect(errors[0]?.split(": no ")[0]).not.toContain("pw");
  });

  test("names, versions, removals and fields of later versions survive", async () => {
    const sent = remoteExtension({
      ...good,
      failurePolicy: 2,
      plugin: { configuration: { "@type": "type.googleapis.com/google.protobuf.StringValue", value: "{}" } },
    });
    const { result } = await run(kind, [Buffer.concat([sent, Buffer.from([0xba, 0x3e, 1, 9])])]);
    const message = messageOf(result);
    expect(message.subarray(-6)).toEqual(Buffer.from([0xba, 0x3e, 3, 1, 2, 3]));
    const [converted] = decodeExtensions(kind, message);
    expect(converted?.bytes.includes(Buffer.from([0xba, 0x3e, 1, 9]))).toBe(true);
    expect(converted?.config).toMatchObject({
      config: { root_id: "root", configuration: { type_url: "type.googleapis.com/google.protobuf.StringValue" } },
    });
    // The failure policy, field 7, is none of the .proto files that wrote the rest.
    expect(converted?.bytes.includes(Buffer.from([0x38, 2]))).toBe(true);
    if (kind === "delta") {
      expect(deltaDiscoveryResponse.decode(message)).toMatchObject({
        systemVersionInfo: "v1",
        nonce: "n1",
        removedResources: ["gone"],
        resources: [{ name: "r0", version: "7" }],
      });
    }
  });

  test("a response without resources passes as it is", async () => {
    const { result } = await run(kind, []);
    expect(messageOf(result).equals(extensionResponse(kind, []))).toBe(true);
  });
});

test.each([
  { what: "only the agent's", env: { ISTIO_META_X: "1" }, hostEnv: undefined, left: undefined },
  {
    what: "the agent's and the host's",
    env: { ISTIO_META_X: "1" },
    hostEnv: ["PATH"],
    left: { host_env_keys: ["PATH"] },
  },
  { what: "mixed", env: { ISTIO_META_X: "1", MODE: "dry" }, hostEnv: undefined, left: { key_values: { MODE: "dry" } } },
])("variables of the VM, $what: what is for the agent is taken out", async ({ env, hostEnv, left }) => {
  const resource = { ...good, env, ...(hostEnv !== undefined && { hostEnv }) };
  const { result } = await run("sotw", [remoteExtension(resource)]);
  const [converted] = decodeExtensions("sotw", messageOf(result));
  const wasm = converted?.config as { config: { vm_config: { environment_variables?: object } } } | undefined;
  expect(wasm?.config.vm_config).toBeDefined();
  expect(plain(wasm?.config.vm_config.environment_variables)).toEqual(left);
});

test.each([
  { env: { ISTIO_META_WASM_IMAGE_PULL_POLICY: "Always" }, seen: { pullPolicy: "always" } },
  { env: { ISTIO_META_WASM_IMAGE_PULL_POLICY: "IfNotPresent" }, seen: { pullPolicy: "if-not-present" } },
  { env: { ISTIO_META_WASM_IMAGE_PULL_POLICY: "Whatever" }, seen: { pullPolicy: "unspecified" } },
  { env: { ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION: "12" }, seen: { resourceVersion: "12", pullSecret: undefined } },
])("the agent's variables $env are understood", async ({ env, seen }) => {
  const { asked } = await run("sotw", [remoteExtension({ ...good, env })]);
  expect(asked).toMatchObject([seen]);
});

test("a pull secret is taken and never printed; an empty one fails the resource", async () => {
  const env = { ISTIO_META_WASM_IMAGE_PULL_SECRET: '{"auths":{}}' };
  const { asked } = await run("sotw", [remoteExtension({ ...good, env })]);
  expect(asked[0]?.pullSecret?.reveal()).toBe('{"auths":{}}');
  expect(JSON.stringify(asked)).not.toContain("auths");
  const empty = await run("sotw", [remoteExtension({ ...good, env: { ISTIO_META_WASM_IMAGE_PULL_SECRET: "" } })]);
  expect(empty.asked).toEqual([]);
  expect(decodeExtensions("sotw", messageOf(empty.result))).toMatchObject([{ type: HTTP_RBAC }]);
});

test.each([
  { sha256: "nil", checksum: "" },
  { sha256: "AB12", checksum: "ab12" },
])("the checksum $sha256 is read as '$checksum'", async ({ sha256, checksum }) => {
  const { asked } = await run("sotw", [remoteExtension({ ...good, sha256 })]);
  expect(asked).toMatchObject([{ checksum }]);
});

test("of local and remote code the last one counts", async () => {
  const { type, value } = remoteWasm(good);
  const local = Buffer.from(
    envoyMessages.packAny({ "@type": HTTP_WASM, ...withCode({ local: { filename: "/x" } }) }).value,
  );
  expect((await run("sotw", [extension("e", { type, value: Buffer.concat([local, value]) })])).asked).toHaveLength(1);
  expect((await run("sotw", [extension("e", { type, value: Buffer.concat([value, local]) })])).asked).toEqual([]);
});

/** Without the empty lists that the other implementation adds. */
function plain(value: unknown): unknown {
  return value === undefined
    ? undefined
    : JSON.parse(
        JSON.stringify(value, (_key, member) => (Array.isArray(member) && member.length === 0 ? undefined : member)),
      );
}
