import type { EnvReader } from "./env-reader.ts";

/** What the composition root itself decides by. */
export interface AgentOptions {
  /** Proxyless: no Envoy process. */
  readonly disableEnvoy: boolean;
  readonly namespace: string;
  /** "" writes none. */
  readonly grpcBootstrapPath: string;
  readonly iptablesTraceLogging: boolean;
}

export function readAgentOptions(env: EnvReader): AgentOptions {
  return Object.freeze({
    disableEnvoy: env.bool("DISABLE_ENVOY"),
    namespace: env.string("POD_NAMESPACE"),
    grpcBootstrapPath: env.string("GRPC_XDS_BOOTSTRAP"),
    iptablesTraceLogging: env.bool("IPTABLES_TRACE_LOGGING"),
  });
}
