import { errorMessage } from "../base/coded-error.ts";
import { wait } from "../base/wait.ts";
import { type AgentSample, EDGES_PATH, SAMPLE_PATH } from "./agent-pages.ts";
import type { GraphSnapshot, MeshState, StaleWorkload, WorkloadSummary } from "./api.ts";
import { buildGraph, type WorkloadFlows } from "./core/build-graph.ts";
import { addSample, flowsOf, listenerFlowsOf, type Samples, WINDOW_MS } from "./core/flows.ts";
import { type GraphWorkload, proxylessCaller } from "./core/graph-nodes.ts";
import { parseStats } from "./core/parse-stats.ts";
import { type HostRules, rulesByHost } from "./core/route-rules.ts";
import type { ConsoleSources, SourceWorkload } from "./sources.ts";

export const INTERVAL_MS = 2000;
/** Shorter than the interval: one that hangs is asked again next time, and holds up no other. */
const ASK = { timeoutMs: 1800, maxBytes: 16 * 1024 * 1024 };

/** A workload without calls has no edge of its own to show: it is asked in every third round while all is well with it. */
const LEAF_ROUNDS = 3;
/** Who shows edges alone only looks whether it has begun to call somebody. */
const LEAF_ROUNDS_OF_EDGES = 10;

export interface Sampler {
  /** Asks every two seconds until it is paused. Both are idempotent. */
  run(): void;
  pause(): void;
  readonly isRunning: boolean;
  /** What is known of the workloads now. */
  workloads(): readonly WorkloadSummary[];
  /** What its agent said last. */
  agentOf(id: string): AgentSample | undefined;
  /** One round at once, for whoever needs figures while no page is open. */
  round(): Promise<GraphSnapshot>;
  stop(): Promise<void>;
}

export interface SamplerOptions {
  readonly sources: ConsoleSources;
  readonly intervalMs: number;
  /** Edges alone are shown, not how workloads are doing: agents need not look at that. */
  readonly edgesOnly?: boolean;
  now(): number;
  onGraph(graph: GraphSnapshot): void;
  onState(state: MeshState): void;
  /** Which objects are in force; called with every graph. */
  onObjects?(revision: string): void;
}

interface Known {
  readonly samples: Samples;
  readonly agent?: AgentSample;
  /** Why the last question was not answered. */
  readonly problem?: string;
  /** Of a question that is not answered yet. */
  readonly askedAt?: number;
}

const NOTHING: Known = { samples: [] };

/** Asks all agents at the same time and makes one picture of what came. */
export function createSampler(options: SamplerOptions): Sampler {
  const { sources, intervalMs, edgesOnly = false, now, onGraph, onState, onObjects } = options;
  const [path, leafRounds] = edgesOnly ? [EDGES_PATH, LEAF_ROUNDS_OF_EDGES] : [SAMPLE_PATH, LEAF_ROUNDS];
  const known = new Map<string, Known>();
  let running: AbortController | undefined;
  let loop: Promise<void> = Promise.resolve();
  let rounds = 0;
  let rules: { readonly revision: string; readonly byHost: ReadonlyMap<string, HostRules> } | undefined;

  const ask = async (workload: SourceWorkload) => {
    const before = known.get(workload.id) ?? NOTHING;
    if (before.askedAt !== undefined) return;
    if (workload.access === undefined) {
      known.set(workload.id, { ...before, problem: workload.unreachable ?? "it cannot be asked from here" });
      return;
    }
    known.set(workload.id, { ...before, askedAt: now() });
    const answer = await answerOf({ access: workload.access, path, before, now });
    if (known.has(workload.id)) known.set(workload.id, answer);
  };
  const readRules = async () => {
    const listed = await sources.objects?.list().catch(() => undefined);
    if (listed !== undefined && listed.revision !== rules?.revision) {
      const documents = listed.objects.map(({ kind, namespace, name, document }) => ({
        kind,
        namespace,
        name,
        spec: (document.spec ?? {}) as Record<string, unknown>,
      }));
      rules = { revision: listed.revision, byHost: rulesByHost(documents) };
    }
    return rules?.byHost ?? new Map<string, HostRules>();
  };
  const summaries = (workloads = sources.workloads()): readonly GraphWorkload[] =>
    workloads.map((workload) => summaryOf(workload, known.get(workload.id) ?? NOTHING));
  const round = async (asksAll: boolean): Promise<GraphSnapshot> => {
    const workloads = sources.workloads();
    const ids = new Set(workloads.map(({ id }) => id));
    for (const id of known.keys()) if (!ids.has(id)) known.delete(id);
    const services = sources.services();
    // What comes to these is counted nowhere else.
    const entries = new Set(
      services.flatMap((each) => (each.entry || proxylessCaller(each, workloads) !== undefined ? [each.name] : [])),
    );
    const isDue = ({ id, service = "" }: SourceWorkload, at: number) =>
      asksAll || (rounds + at) % leafRounds === 0 || entries.has(service) || !isQuietLeaf(known.get(id) ?? NOTHING);
    rounds += 1;
    const asked = Promise.all(workloads.filter(isDue).map(ask));
    // One that hangs holds up no other: what came is shown, and it is asked again when it has answered.
    const limit = timeLimit(Math.min(ASK.timeoutMs, intervalMs));
    const [byHost, controlPlane] = await Promise.all([
      readRules(),
      edgesOnly ? undefined : sources.controlPlane(),
      Promise.race([asked, limit.reached]),
    ]);
    limit.end();
    const at = now();
    const flows = new Map<string, WorkloadFlows>(
      [...known].map(([id, { samples }]) => [
        id,
        {
          flows: flowsOf(samples),
          listeners: listenerFlowsOf(samples),
          totals: samples.at(-1)?.clusters ?? new Map(),
        },
      ]),
    );
    const described = summaries(workloads);
    const graph = buildGraph({
      at,
      windowMs: WINDOW_MS,
      workloads: described,
      services,
      flows,
      rules: byHost,
      stale: staleOf(workloads, known),
    });
    onGraph(graph);
    if (rules !== undefined) onObjects?.(rules.revision);
    if (controlPlane === undefined) return graph;
    onState({
      at,
      controlPlane,
      workloads: described.map(({ identity: _, calls: _c, ...summary }) => summary),
      problems: sources.problems(),
    });
    return graph;
  };
  const repeat = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      const begun = now();
      await round(false).catch(() => undefined);
      await wait(Math.max(intervalMs / 20, intervalMs - (now() - begun)), signal);
    }
  };
  const pause = () => {
    running?.abort();
    running = undefined;
    // Rates over the time in between would belong to no window.
    for (const [id, each] of known) known.set(id, { ...each, samples: [] });
  };
  return {
    run() {
      if (running !== undefined) return;
      running = new AbortController();
      const { signal } = running;
      loop = loop.then(() => repeat(signal));
    },
    pause,
    get isRunning() {
      return running !== undefined;
    },
    workloads: () => summaries().map(({ identity: _, calls: _c, ...summary }) => summary),
    agentOf: (id) => known.get(id)?.agent,
    round: () => round(true),
    async stop() {
      pause();
      await loop;
    },
  };
}

/** Without a signal, whose abort makes an error with a stack: a tenth of a round (bench/console). */
function timeLimit(ms: number): { readonly reached: Promise<void>; end(): void } {
  let timer: NodeJS.Timeout | undefined;
  const reached = new Promise<void>((done) => {
    timer = setTimeout(done, ms);
  });
  return { reached, end: () => clearTimeout(timer) };
}

/** What comes to it is counted by its callers; what comes from outside the mesh is counted at entries, which are no leaves. */
function isQuietLeaf({ samples, agent, problem }: Known): boolean {
  const [last] = samples.slice(-1);
  const isWell = problem === undefined && agent?.reasons.length === 0 && agent.envoy?.phase === "running";
  return isWell && last !== undefined && [...last.clusters.keys()].every((name) => name.startsWith("inbound|"));
}

interface Question {
  readonly access: NonNullable<SourceWorkload["access"]>;
  readonly path: string;
  readonly before: Known;
  now(): number;
}

async function answerOf({ access, path, before, now }: Question): Promise<Known> {
  try {
    const { status, body } = await access.get(path, ASK);
    if (status !== 200) throw new Error(`its agent answers ${status}: ${body.slice(0, 200)}`);
    const answer = JSON.parse(body) as { readonly agent: AgentSample; readonly stats: unknown };
    const sample = answer.stats === null ? undefined : parseStats(answer.stats, now());
    const { statsProblem } = answer.agent;
    return {
      samples: sample === undefined ? before.samples : addSample(before.samples, sample),
      agent: answer.agent,
      ...(statsProblem === undefined ? {} : { problem: `Envoy has no statistics: ${statsProblem}` }),
    };
  } catch (thrown) {
    return { ...before, problem: errorMessage(thrown) };
  }
}

function summaryOf(workload: SourceWorkload, { agent, problem }: Known): GraphWorkload {
  const {
    labels: _l,
    serviceAccount: _s,
    ports: _p,
    capture: _c,
    obstacle,
    restarts: _r,
    access: _a,
    unreachable: _u,
    ...rest
  } = workload;
  const reasons = [
    obstacle,
    ...(agent === undefined || problem !== undefined ? [problem] : []),
    ...(agent?.reasons ?? []),
  ].flatMap((each) => each ?? []);
  const { envoy } = agent ?? {};
  return {
    ...rest,
    ready: agent !== undefined && reasons.length === 0,
    reasons: [...new Set(reasons)],
    ...(envoy === undefined
      ? {}
      : {
          envoy: {
            phase: envoy.phase === "running" ? ("running" as const) : ("waiting" as const),
            ...(envoy.pid === undefined ? {} : { pid: envoy.pid }),
            ...(envoy.phase === "running" ? {} : { reason: `Envoy is ${envoy.phase}` }),
            restarts: envoy.exits.length,
          },
        }),
  };
}

function staleOf(workloads: readonly SourceWorkload[], known: ReadonlyMap<string, Known>): readonly StaleWorkload[] {
  return workloads.flatMap(({ id, kind }) => {
    const { problem, samples, askedAt } = known.get(id) ?? NOTHING;
    const at = samples.at(-1)?.at;
    const reason = askedAt === undefined ? problem : "its agent has not answered yet";
    if (reason === undefined || kind === "proxyless") return [];
    return [{ workload: id, ...(at === undefined ? {} : { at }), reason }];
  });
}
