/** How the termination differs between generations. */
export interface TerminationRules {
  /** The log line at its start. */
  readonly announcement: string;
  /** Asks Envoy for a drain sequence; older agents only stop the listeners. */
  readonly isGraceful: boolean;
  /** Gateways were drained like sidecars: only their inbound listeners. */
  readonly isAlwaysInboundOnly: boolean;
  readonly statsTimeoutMs: number;
  /** Failed looks at the connections in a row that are put up with. */
  readonly toleratedStatsErrors: number;
}

const RULES: readonly (TerminationRules & { readonly since: number })[] = [
  {
    since: 0,
    announcement: "Agent draining Proxy",
    isGraceful: false,
    isAlwaysInboundOnly: true,
    statsTimeoutMs: 1_000,
    toleratedStatsErrors: 0,
  },
  {
    since: 7,
    announcement: "Agent draining Proxy",
    isGraceful: false,
    isAlwaysInboundOnly: false,
    statsTimeoutMs: 1_000,
    toleratedStatsErrors: 0,
  },
  {
    since: 8,
    announcement: "Agent draining Proxy",
    isGraceful: true,
    isAlwaysInboundOnly: false,
    statsTimeoutMs: 1_000,
    toleratedStatsErrors: 0,
  },
  {
    since: 21,
    announcement: "Agent draining Proxy for termination",
    isGraceful: true,
    isAlwaysInboundOnly: false,
    statsTimeoutMs: 2_000,
    toleratedStatsErrors: 4,
  },
];

/** `generation` is "master" or "1.N". */
export function terminationRules(generation: string): TerminationRules {
  const minor = minorOf(generation);
  const rules = RULES.findLast((candidate) => candidate.since <= minor);
  if (rules === undefined) throw new Error(`no termination rules for generation ${JSON.stringify(generation)}`);
  return rules;
}

/** The N of "1.N"; "master" is later than all. NaN for anything else. */
export function minorOf(generation: string): number {
  return generation === "master" ? Number.POSITIVE_INFINITY : Number(/^1\.(\d+)/.exec(generation)?.[1]);
}
