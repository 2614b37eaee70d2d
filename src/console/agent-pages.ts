import { errorMessage } from "../base/coded-error.ts";
import { STATS_PATH } from "./core/parse-stats.ts";
import type { AgentAccess, AgentAnswer } from "./sources.ts";

/** What an agent has for consoles. Never a key or a token. */
export interface AgentPagesSources {
  readonly version: string;
  /** `name: why` lines; empty when ready. */
  reasons(): Promise<readonly string[]>;
  notes(): readonly string[];
  /** Undefined in an agent without Envoy. */
  envoy(): EnvoyView | undefined;
  certificates(): Promise<unknown>;
  /** Why the CA gives none; undefined when it does. */
  certificateProblem(): Promise<string | undefined>;
  streams(): unknown;
  /** JSON text; undefined while there is no name table. */
  names(): string | undefined;
}

export interface EnvoyView {
  readonly phase: string;
  readonly pid: number | undefined;
  /** How processes ended that were meant to go on, newest first. */
  readonly exits: readonly { readonly at: number; readonly reason: string }[];
  ask(method: "GET" | "POST", path: string, limits: EnvoyLimits): Promise<AgentAnswer>;
  /** A GET that comes again and again, as cheaply as it can be. */
  poll(path: string, limits: EnvoyLimits): Promise<AgentAnswer>;
}

interface EnvoyLimits {
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** How an agent is doing, as `/sample` has it beside the statistics. */
export interface AgentSample {
  readonly version: string;
  readonly reasons: readonly string[];
  readonly notes: readonly string[];
  readonly envoy?: { readonly phase: string; readonly pid?: number; readonly exits: EnvoyView["exits"] };
  /** Why there are no statistics. */
  readonly statsProblem?: string;
}

export const SAMPLE_PATH = "/sample";
/** The same without looking whether the agent is ready, which costs a second question to Envoy. */
export const EDGES_PATH = "/sample?edges";
export const AGENT_PATHS = { certificates: "/certificates", streams: "/streams", names: "/names" } as const;
/** Longer than the time between two questions to a workload that calls no service. */
const READY_MS = 15_000;
const STATS_LIMITS = { timeoutMs: 1500, maxBytes: 16 * 1024 * 1024 };
const ADMIN_LIMITS = { timeoutMs: 5000, maxBytes: 64 * 1024 * 1024 };
/** Only what the console asks: the admin interface can also end Envoy, and show what it must not. */
const ADMIN_READS = ["/clusters", "/config_dump", "/server_info", "/listeners"];
const LEVEL_CHANGE = /^\/envoy\/logging(\?[a-z0-9_]+=[a-z]+)?$/;

/** The agent's side of a console: one question gives statistics and state together, the others are for details. */
export function createAgentPages(sources: AgentPagesSources): AgentAccess {
  const reasons = memoizeReasons(sources);
  return {
    async get(path) {
      if (path === SAMPLE_PATH) return sample(sources, reasons);
      if (path === EDGES_PATH) return sample(sources, async () => []);
      if (path === AGENT_PATHS.certificates) return certificates(sources);
      if (path === AGENT_PATHS.streams) return json(sources.streams());
      if (path === AGENT_PATHS.names) return { status: 200, body: sources.names() ?? "{}" };
      const admin = path.replace(/^\/envoy/, "");
      if (path.startsWith("/envoy/") && ADMIN_READS.includes(admin.split("?")[0] ?? ""))
        return askEnvoy(sources, "GET", admin);
      return { status: 404, body: `${path} is not a page of this agent` };
    },
    async post(path) {
      if (!LEVEL_CHANGE.test(path)) return { status: 404, body: `${path} is not a page of this agent` };
      return askEnvoy(sources, "POST", path.replace(/^\/envoy/, ""));
    },
  };
}

/** The statistics are passed on as Envoy wrote them: reading them is the console's work, which is there for one and not for each agent. */
async function sample(sources: AgentPagesSources, readReasons: AgentPagesSources["reasons"]): Promise<AgentAnswer> {
  const envoy = sources.envoy();
  const asked = envoy
    ?.poll(STATS_PATH, STATS_LIMITS)
    .catch((thrown: unknown) => ({ status: 0, body: errorMessage(thrown) }));
  const [reasons, stats] = await Promise.all([readReasons(), asked]);
  const isGood = stats?.status === 200;
  const state: AgentSample = {
    version: sources.version,
    reasons,
    notes: sources.notes(),
    ...(envoy === undefined
      ? {}
      : {
          envoy: {
            phase: envoy.phase,
            ...(envoy.pid === undefined ? {} : { pid: envoy.pid }),
            exits: envoy.exits,
          },
        }),
    ...(stats === undefined || isGood ? {} : { statsProblem: stats.body.split("\n")[0] ?? "" }),
  };
  return { status: 200, body: `{"agent":${JSON.stringify(state)},"stats":${isGood ? stats.body : "null"}}` };
}

/**
 * Readiness asks Envoy, which costs more than the statistics: while all is well that is done every few seconds only. An Envoy that ends or
 * hangs shows at once, by its phase and by statistics that do not come.
 */
function memoizeReasons({ reasons, envoy }: AgentPagesSources): AgentPagesSources["reasons"] {
  let readyUntil = 0;
  return async () => {
    const phase = envoy()?.phase ?? "running";
    if (phase === "running" && Date.now() < readyUntil) return [];
    const found = await reasons();
    readyUntil = found.length === 0 ? Date.now() + READY_MS : 0;
    return found;
  };
}

async function certificates(sources: AgentPagesSources): Promise<AgentAnswer> {
  const [described, problem] = await Promise.all([sources.certificates(), sources.certificateProblem()]);
  return json({ certificates: described, ...(problem === undefined ? {} : { problem }) });
}

async function askEnvoy(sources: AgentPagesSources, method: "GET" | "POST", path: string): Promise<AgentAnswer> {
  const envoy = sources.envoy();
  if (envoy === undefined) return { status: 404, body: "this agent has no Envoy" };
  return envoy.ask(method, path, ADMIN_LIMITS);
}

function json(value: unknown): AgentAnswer {
  return { status: 200, body: JSON.stringify(value) };
}
