import { any, deltaDiscoveryResponse, discoveryResponse } from "../../../src/protobuf/wire/discovery.ts";
import { memberBytes, withMember } from "../../../src/protobuf/wire/edit-members.ts";
import { message, string, uint32 } from "../../../src/protobuf/wire/message.ts";
import { createEnvoyMessages } from "../xds/envoy-messages.ts";

export const EXTENSION_TYPE = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig";
export const HTTP_WASM = "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm";
export const NETWORK_WASM = "type.googleapis.com/envoy.extensions.filters.network.wasm.v3.Wasm";

/** The smallest module there is: magic number and version. */
export const WASM_MODULE = Buffer.from([0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

/** A module of its own content: the empty one and a custom section with the text. */
export function wasmModule(text: string): Buffer {
  const name = Buffer.from(text.slice(0, 100));
  return Buffer.concat([WASM_MODULE, Buffer.from([0, name.length + 1, name.length]), name]);
}

/** Envoy's own messages, written and read by another implementation. */
export const envoyMessages = createEnvoyMessages();

export interface WasmResource {
  readonly name: string;
  readonly filter?: string;
  readonly url?: string;
  readonly sha256?: string;
  readonly timeout?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly hostEnv?: readonly string[];
  readonly failOpen?: boolean;
  /** 1 reload, 2 closed, 3 open. */
  readonly failurePolicy?: number;
  readonly runtime?: string;
  /** More members of PluginConfig. */
  readonly plugin?: object;
}

/** The Wasm message of a filter whose code is at an address. */
export function remoteWasm(resource: WasmResource): { readonly type: string; readonly value: Buffer } {
  const type = resource.filter ?? HTTP_WASM;
  const { url, env, hostEnv } = resource;
  const uri = url === undefined ? {} : { http_uri: { uri: url, timeout: resource.timeout ?? "10s", cluster: "any" } };
  const variables =
    env === undefined && hostEnv === undefined ? {} : { key_values: env ?? {}, host_env_keys: hostEnv ?? [] };
  const packed = envoyMessages.packAny({
    "@type": type,
    config: {
      name: "plugin",
      root_id: "root",
      fail_open: resource.failOpen ?? false,
      vm_config: {
        runtime: resource.runtime ?? "envoy.wasm.runtime.v8",
        code: { remote: { ...uri, ...(resource.sha256 !== undefined && { sha256: resource.sha256 }) } },
        ...("key_values" in variables && { environment_variables: variables }),
      },
      ...resource.plugin,
    },
  });
  return { type, value: withFailurePolicy(Buffer.from(packed.value), resource.failurePolicy) };
}

/** Newer than the .proto files at hand, so it also shows what happens to unknown fields. */
function withFailurePolicy(wasm: Buffer, policy: number | undefined): Buffer {
  if (policy === undefined) return wasm;
  const plugin = memberBytes(wasm, 1) ?? Buffer.alloc(0);
  return withMember(wasm, 1, Buffer.concat([plugin, message({ policy: uint32(7) }).encode({ policy })]));
}

/** A TypedExtensionConfig with that content. */
export function extension(name: string, typed: { readonly type: string; readonly value: Buffer } | undefined): Buffer {
  const named = message({ name: string(1) }).encode({ name });
  return typed === undefined ? named : withMember(named, 2, any.encode({ typeUrl: typed.type, value: typed.value }));
}

export function remoteExtension(resource: WasmResource): Buffer {
  return extension(resource.name, remoteWasm(resource));
}

/** A response with these resources and a field of a later version at its end. */
export function extensionResponse(
  kind: "sotw" | "delta",
  extensions: readonly Buffer[],
  nonce = "n1",
  version = "v1",
): Buffer {
  const resources = extensions.map((value) => ({ typeUrl: EXTENSION_TYPE, value }));
  const later = Buffer.from([0xba, 0x3e, 3, 1, 2, 3]);
  if (kind === "sotw") {
    return Buffer.concat([
      discoveryResponse.encode({ versionInfo: version, typeUrl: EXTENSION_TYPE, nonce, resources }),
      later,
    ]);
  }
  const wrapped = resources.map((resource, index) => ({ version: "7", name: `r${index}`, resource }));
  return Buffer.concat([
    deltaDiscoveryResponse.encode({
      systemVersionInfo: version,
      typeUrl: EXTENSION_TYPE,
      nonce,
      resources: wrapped,
      removedResources: ["gone"],
    }),
    later,
  ]);
}

export interface DecodedExtension {
  readonly name: string;
  readonly type: string;
  /** The configuration as the other implementation reads it; undefined when it has no .proto of it. */
  readonly config: Record<string, unknown>;
  readonly bytes: Buffer;
}

export function decodeExtensions(kind: "sotw" | "delta", response: Buffer): readonly DecodedExtension[] {
  const values =
    kind === "sotw"
      ? discoveryResponse.decode(response).resources.map(({ value }) => value)
      : deltaDiscoveryResponse.decode(response).resources.map(({ resource }) => resource?.value);
  return values.map((value = Buffer.alloc(0)) => {
    const bytes = Buffer.from(value);
    const { name } = message({ name: string(1) }).decode(bytes);
    const typed = memberBytes(bytes, 2) ?? Buffer.alloc(0);
    const { typeUrl, value: config } = any.decode(typed);
    const typeName = typeUrl.slice(typeUrl.lastIndexOf("/") + 1);
    return { name, type: typeUrl, config: envoyMessages.codec(typeName).decode(Buffer.from(config)), bytes };
  });
}
