import type { WasmPluginSpec } from "../../istio-api/specs.ts";
import { pack } from "../../protobuf/envoy/index.ts";
import type { AsyncDataSource, TypedExtensionConfig } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { PluginConfig } from "../../protobuf/gen/envoy/extensions/wasm/v3.ts";
import { resourceName, type WasmPlugin } from "./wasm-plugins.ts";

/** Variables that agents read and take away again; Envoy never sees them. */
const PULL_SECRET = "ISTIO_META_WASM_IMAGE_PULL_SECRET";
const PULL_POLICY = "ISTIO_META_WASM_IMAGE_PULL_POLICY";
const RESOURCE_VERSION = "ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION";

/** The Secret that a plugin's module is fetched with, `namespace/name`: always one of the plugin's own namespace. */
export function pullSecretOf({ namespace, spec }: WasmPlugin): string | undefined {
  const name = spec.imagePullSecret.replace(/^kubernetes:\/\//, "");
  return name === "" ? undefined : `${namespace}/${name.split("/").at(-1)}`;
}

/** What Envoy runs, with the module's address in it: agents fetch the module and put a file in its place. */
export function pluginConfig(plugin: WasmPlugin, pullSecret = ""): TypedExtensionConfig {
  const { spec } = plugin;
  const config = { config: wasmConfig(plugin, pullSecret) };
  return {
    name: resourceName(plugin),
    typedConfig:
      spec.type === "NETWORK"
        ? pack("envoy.extensions.filters.network.wasm.v3.Wasm", config)
        : pack("envoy.extensions.filters.http.wasm.v3.Wasm", config),
  };
}

const FAILURE_POLICIES = { FAIL_CLOSE: "FAIL_CLOSED", FAIL_OPEN: "FAIL_OPEN", FAIL_RELOAD: "FAIL_RELOAD" } as const;

function wasmConfig(plugin: WasmPlugin, pullSecret: string): PluginConfig {
  const { namespace, name, spec } = plugin;
  const settings = spec.pluginConfig ?? {};
  const env = spec.vmConfig?.env ?? [];
  const hostEnvKeys = env.filter(({ valueFrom }) => valueFrom === "HOST").map((one) => one.name);
  return {
    name: `${namespace}.${name}`,
    ...(spec.pluginName !== "" && { rootId: spec.pluginName }),
    ...(Object.keys(settings).length > 0 && {
      configuration: { "@type": "type.googleapis.com/google.protobuf.StringValue", value: JSON.stringify(settings) },
    }),
    failurePolicy: FAILURE_POLICIES[spec.failStrategy],
    vmConfig: {
      runtime: "envoy.wasm.runtime.v8",
      code: dataSource(spec),
      environmentVariables: {
        ...(hostEnvKeys.length > 0 && { hostEnvKeys }),
        keyValues: {
          ...Object.fromEntries(
            env.filter(({ valueFrom }) => valueFrom === "INLINE").map((one) => [one.name, one.value]),
          ),
          // Empty: it cannot be had, and the agent says so instead of asking the registry without.
          ...(pullSecretOf(plugin) !== undefined && { [PULL_SECRET]: pullSecret }),
          ...(spec.imagePullPolicy !== "UNSPECIFIED_POLICY" && { [PULL_POLICY]: spec.imagePullPolicy }),
          [RESOURCE_VERSION]: resourceVersion(plugin),
        },
      },
    },
  };
}

/** Tells agents that `Always` pull whether they have looked since the object last changed. */
function resourceVersion({ source }: WasmPlugin): string {
  const { resourceVersion: version } = (source.metadata ?? {}) as { readonly resourceVersion?: unknown };
  return typeof version === "string" ? version : "";
}

/** Agents fetch in the time that is left of it; the cluster is never asked. */
const FETCH_TIMEOUT = "30s";

function dataSource({ url, sha256 }: WasmPluginSpec): AsyncDataSource {
  if (url.startsWith("file://")) return { local: { filename: url.slice("file://".length) } };
  return {
    remote: { httpUri: { uri: moduleUrl(url), timeout: FETCH_TIMEOUT, cluster: "_" }, sha256 },
  };
}

/** A reference without scheme is one of an image. */
function moduleUrl(url: string): string {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(url) ? url : `oci://${url}`;
}
