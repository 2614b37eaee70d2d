import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import { parseProtoDuration } from "../protobuf/proto-duration.ts";
import type { PrivateKeyProvider, SdsStartOptions } from "../sds/index.ts";
import type { EnvReader } from "./env-reader.ts";
import type { GenerationRules } from "./generations.ts";
import { WORKLOAD_SOCKET_DIRECTORY } from "./well-known-paths.ts";

const CREDENTIAL_SOCKET_DIRECTORY = "./var/run/secrets/credential-uds";
const NANOSECONDS = 1_000_000_000n;

/** Who serves the workload's certificate, where, and how Envoy uses its key. */
export interface SdsSettings {
  readonly start: Omit<SdsStartOptions, "log">;
  readonly privateKeyProvider: PrivateKeyProvider | undefined;
}

export function readSdsSettings(env: EnvReader, proxyConfig: ProxyConfig, rules: GenerationRules): SdsSettings {
  return {
    start: {
      workloadDirectory: WORKLOAD_SOCKET_DIRECTORY,
      credentialDirectory: CREDENTIAL_SOCKET_DIRECTORY,
      socketName: env.string("WORKLOAD_IDENTITY_SOCKET_FILE"),
      generation: rules.sds,
      requireExternal: env.bool("USE_EXTERNAL_WORKLOAD_SDS"),
    },
    privateKeyProvider: readPrivateKeyProvider(proxyConfig),
  };
}

function readPrivateKeyProvider({ privateKeyProvider }: ProxyConfig): PrivateKeyProvider | undefined {
  const { cryptomb, qat } = privateKeyProvider ?? {};
  const chosen = cryptomb ?? qat;
  if (chosen === undefined) return undefined;
  const delay = parseProtoDuration(chosen.pollDelay ?? "0s");
  return {
    name: cryptomb === undefined ? "qat" : "cryptomb",
    pollDelay: { seconds: Number(delay / NANOSECONDS), nanos: Number(delay % NANOSECONDS) },
    fallback: chosen.fallback ?? false,
  };
}
