import type { JsonObject } from "../../protobuf/wire/struct.ts";
import {
  base64,
  enumeration,
  flag,
  integer64,
  type JsonMessage,
  jsonMessage,
  listOf,
  mapOf,
  member,
  text,
} from "./json-message.ts";
import { jsonAny, jsonBoolValue, jsonDuration, jsonUint32Value } from "./well-known-json.ts";

/** A Wasm filter of a TypedStruct as the message it describes. The HTTP and the network filter have the same one. */
export function encodeWasmJson(value: JsonObject): Buffer {
  return wasm.encode(value, "value");
}

export const FAILURE_POLICIES = ["UNSPECIFIED", "FAIL_RELOAD", "FAIL_CLOSED", "FAIL_OPEN"] as const;

const extension = jsonMessage("TypedExtensionConfig", { name: text(1), typed_config: member(2, jsonAny) });
const backoffStrategy = jsonMessage("BackoffStrategy", {
  base_interval: member(1, jsonDuration),
  max_interval: member(2, jsonDuration),
});
const retryPolicy = jsonMessage("RetryPolicy", {
  retry_back_off: member(1, backoffStrategy),
  num_retries: member(2, jsonUint32Value),
  retry_on: text(3),
  retry_priority: member(4, extension),
  retry_host_predicate: listOf(member(5, extension)),
  host_selection_retry_max_attempts: integer64(6),
});
const httpUri = jsonMessage("HttpUri", {
  uri: text(1),
  cluster: text(2, "upstream"),
  timeout: member(3, jsonDuration),
});
const dataSource = jsonMessage("DataSource", {
  filename: text(1, "specifier"),
  inline_bytes: base64(2, "specifier"),
  inline_string: text(3, "specifier"),
  environment_variable: text(4, "specifier"),
  watched_directory: member(5, jsonMessage("WatchedDirectory", { path: text(1) })),
});
const remoteDataSource = jsonMessage("RemoteDataSource", {
  http_uri: member(1, httpUri),
  sha256: text(2),
  retry_policy: member(3, retryPolicy),
});
const asyncDataSource = jsonMessage("AsyncDataSource", {
  local: member(1, dataSource, "specifier"),
  remote: member(2, remoteDataSource, "specifier"),
});
const environmentVariables = jsonMessage("EnvironmentVariables", {
  host_env_keys: listOf(text(1, "item")),
  key_values: mapOf(2, text(2, "value")),
});
const vmConfig = jsonMessage("VmConfig", {
  vm_id: text(1),
  runtime: text(2),
  code: member(3, asyncDataSource),
  configuration: member(4, jsonAny),
  allow_precompiled: flag(5),
  nack_on_code_cache_miss: flag(6),
  environment_variables: member(7, environmentVariables),
});
const capabilityRestriction = jsonMessage("CapabilityRestrictionConfig", {
  allowed_capabilities: mapOf(1, member(2, jsonMessage("SanitizationConfig", {}))),
});
const pluginConfig = jsonMessage("PluginConfig", {
  name: text(1),
  root_id: text(2),
  vm_config: member(3, vmConfig),
  configuration: member(4, jsonAny),
  fail_open: flag(5),
  capability_restriction_config: member(6, capabilityRestriction),
  failure_policy: enumeration(7, FAILURE_POLICIES),
  reload_config: member(8, jsonMessage("ReloadConfig", { backoff: member(1, backoffStrategy) })),
  allow_on_headers_stop_iteration: member(9, jsonBoolValue),
});
const wasm: JsonMessage = jsonMessage("Wasm", { config: member(1, pluginConfig) });
