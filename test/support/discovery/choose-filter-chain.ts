import type { FilterChain, Listener } from "../../../src/protobuf/gen/envoy/config/listener/v3.ts";
import type * as simulated from "../../../src/simulate/connection/connection.ts";
import { matchingChains } from "../../../src/simulate/connection/filter-chain.ts";

/** A connection as a listener meets it. */
export interface Connection {
  readonly address?: string;
  readonly port: number;
  /** What the client's first bytes are. Silence: the server is to speak first. */
  readonly speaks: "tcp" | "http" | "tls" | "nothing";
  readonly alpn?: readonly string[];
  readonly sni?: string;
}

/** The chain that Envoy takes; several that match alike are an error, as they are to Envoy. */
export function chooseFilterChain(listener: Listener, connection: Connection): FilterChain | undefined {
  const matching = matchingChains(listener, toSimulated(connection));
  if (matching.length > 1) throw new Error(`${matching.length} chains match alike`);
  return matching[0] ?? listener.defaultFilterChain;
}

const SPEECH = { http: "http1", nothing: "silence", tcp: "bytes", tls: "bytes" } as const;

function toSimulated({ address = "192.0.2.1", port, speaks, alpn = [], sni }: Connection): simulated.Connection {
  return {
    destination: { address, port },
    sourceAddress: undefined,
    speaks: SPEECH[speaks],
    ...(speaks === "tls" && { tls: { serverName: sni, alpn, identity: undefined } }),
  };
}

/** What becomes of the connection, in few words: `no chain`, `http inbound|80||`, `mtls tcp inbound|90||`. */
export function describeChain(chain: FilterChain | undefined): string {
  if (chain === undefined) return "no chain";
  const last = chain.filters?.at(-1)?.typedConfig as TypedConfig | undefined;
  const route = last?.rds?.routeConfigName ?? last?.routeConfig?.name;
  const weighted = last?.weightedClusters?.clusters.map(({ name, weight }) => `${name}=${weight}`).join(" ");
  const target = route === undefined ? `tcp ${weighted ?? last?.cluster}` : `http ${route}`;
  return chain.transportSocket === undefined ? target : `mtls ${target}`;
}

interface TypedConfig {
  readonly cluster?: string;
  readonly weightedClusters?: { readonly clusters: readonly { readonly name: string; readonly weight: number }[] };
  readonly rds?: { readonly routeConfigName: string };
  readonly routeConfig?: { readonly name: string };
}
