import { Secret } from "../../base/secret.ts";
import { MAX_TIMER_MS } from "../../base/timer-limit.ts";
import { duration } from "../../protobuf/wire/discovery.ts";
import { memberBytes, memberList, withMember, withMembers } from "../../protobuf/wire/edit-members.ts";
import { map, message, nested, repeatedString, string } from "../../protobuf/wire/message.ts";
import { WasmError } from "../wasm-error.ts";
import { CODE, ENVIRONMENT, type RemoteFilter, withVmConfig } from "./wasm-filter.ts";

export type PullPolicy = "unspecified" | "if-not-present" | "always";

/** Where a module is and how it may be fetched. */
export interface RemoteModule {
  readonly url: string;
  /** Hex SHA-256, or "" when any content will do. */
  readonly checksum: string;
  /** For the whole fetch. */
  readonly timeoutMs: number;
  /** Docker's config JSON. */
  readonly pullSecret: Secret | undefined;
  readonly pullPolicy: PullPolicy;
  /** Of the resource that names the module. */
  readonly resourceName: string;
  readonly resourceVersion: string;
}

/** What the control plane sends to the agent is among the variables of the VM; none of it is for the VM. */
const AGENT_PREFIX = "ISTIO_META_";
const PULL_SECRET = "ISTIO_META_WASM_IMAGE_PULL_SECRET";
const PULL_POLICY = "ISTIO_META_WASM_IMAGE_PULL_POLICY";
const RESOURCE_VERSION = "ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION";
const DEFAULT_TIMEOUT_MS = 5000;
const KEY_VALUES = 2;

const httpUri = message({ uri: string(1), timeout: nested(3, duration) });
const remoteDataSource = message({ httpUri: nested(1, httpUri), sha256: string(2) });
const environment = message({ hostEnvKeys: repeatedString(1), keyValues: map(2, string(2)) });
const mapEntry = message({ key: string(1) });
const localFile = message({ local: nested(1, message({ filename: string(1) })) });

/** Throws what fails this one resource, to be replaced by its fallback. */
export function readRemoteModule({ name, vmConfig, remote }: RemoteFilter): RemoteModule {
  const { httpUri: uri, sha256 } = remoteDataSource.decode(remote);
  const variables = environment.decode(memberBytes(vmConfig, ENVIRONMENT) ?? Buffer.alloc(0)).keyValues;
  const secret = variables.get(PULL_SECRET);
  if (secret === "") throw new WasmError("bad-secret", "cannot fetch Wasm module: missing image pulling secret");
  if (uri === undefined)
    throw new WasmError("missing-hint", `wasm remote fetch ${name} does not have httpUri specified`);
  return {
    url: uri.uri ?? "",
    // An empty checksum travels as "nil", because old Envoys demanded a value.
    checksum: sha256 === "nil" ? "" : sha256.toLowerCase(),
    timeoutMs: uri.timeout === undefined ? DEFAULT_TIMEOUT_MS : milliseconds(uri.timeout),
    pullSecret: secret === undefined ? undefined : new Secret(secret),
    pullPolicy: pullPolicy(variables.get(PULL_POLICY)),
    resourceName: name,
    resourceVersion: variables.get(RESOURCE_VERSION) ?? "",
  };
}

/** The Wasm message with its code in a file and without what only the agent had to know. */
export function withLocalCode({ wasm, vmConfig }: RemoteFilter, path: string): Buffer {
  const code = localFile.encode({ local: { filename: path } });
  return withVmConfig(wasm, withMember(withoutAgentVariables(vmConfig), CODE, code));
}

function withoutAgentVariables(vmConfig: Buffer): Buffer {
  const variables = memberBytes(vmConfig, ENVIRONMENT);
  if (variables === undefined) return vmConfig;
  const remaining = memberList(variables, KEY_VALUES).filter(
    (entry) => !mapEntry.decode(entry).key.startsWith(AGENT_PREFIX),
  );
  const rest = withMembers(variables, KEY_VALUES, remaining);
  return withMember(vmConfig, ENVIRONMENT, rest.length === 0 ? undefined : rest);
}

function pullPolicy(text: string | undefined): PullPolicy {
  if (text === "IfNotPresent") return "if-not-present";
  return text === "Always" ? "always" : "unspecified";
}

function milliseconds({ seconds = 0n, nanos = 0 }: { seconds?: bigint; nanos?: number }): number {
  return Math.min(Number(seconds) * 1000 + nanos / 1_000_000, MAX_TIMER_MS);
}
