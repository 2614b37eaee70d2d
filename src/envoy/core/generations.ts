import { COMMAND_LINES, type CommandLine } from "./command-lines.ts";

/** What differs between product generations in this folder. */
export interface EnvoyRules {
  /** For messages. */
  readonly generation: string;
  readonly commandLine: CommandLine;
  readonly termination: TerminationRules;
  readonly readiness: ReadinessRules;
}

/** `generation` is "master" or "1.N". */
export function envoyRules(generation: string): EnvoyRules {
  return {
    generation,
    commandLine: commandLineOf(generation),
    termination: terminationRules(generation),
    readiness: readinessRules(generation),
  };
}

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

function terminationRules(generation: string): TerminationRules {
  const minor = minorOf(generation);
  const rules = RULES.findLast((candidate) => candidate.since <= minor);
  if (rules === undefined) throw new Error(`no termination rules for generation ${JSON.stringify(generation)}`);
  return rules;
}

/** How Envoy's readiness is queried and reported. */
export interface ReadinessRules {
  /** Says which part of the configuration is missing and why; before, one text stood for all of it. */
  readonly reportsParts: boolean;
  /** Dots of the statistics' names are escaped in the filters. */
  readonly escapesFilters: boolean;
  readonly serverTimeoutMs: number;
  /** Once ready, Envoy's state is not asked for again. */
  readonly cachesReady: boolean;
  /** Why an agent that is ending is not ready. */
  readonly terminated: (cause: string) => string;
}

const MASTER_READINESS: ReadinessRules = {
  reportsParts: true,
  escapesFilters: true,
  serverTimeoutMs: 3_000,
  cachesReady: true,
  terminated: (cause) => `server is terminated: ${cause}`,
};

function readinessRules(generation: string): ReadinessRules {
  const minor = minorOf(generation);
  if (minor > 20) return MASTER_READINESS;
  const earlier = { ...MASTER_READINESS, terminated: () => "server is not live, current state is: DRAINING" };
  if (minor > 9) return earlier;
  if (minor > 7) return { ...earlier, reportsParts: false };
  return { ...earlier, reportsParts: false, escapesFilters: false, serverTimeoutMs: 1_000, cachesReady: false };
}

/** The N of "1.N"; "master" is later than all. NaN for anything else. */
function minorOf(generation: string): number {
  return generation === "master" ? Number.POSITIVE_INFINITY : Number(/^1\.(\d+)/.exec(generation)?.[1]);
}

function commandLineOf(generation: string): CommandLine {
  const minor = minorOf(generation);
  const line = COMMAND_LINES.findLast((candidate) => candidate.since <= minor);
  if (line === undefined) throw new Error(`no Envoy command line for generation ${JSON.stringify(generation)}`);
  return line;
}
