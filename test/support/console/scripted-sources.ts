import type { ControlPlaneState } from "../../../src/console/api.ts";
import type { ServiceInfo } from "../../../src/console/core/graph-nodes.ts";
import type {
  AgentAccess,
  ConsoleSources,
  ObjectFinding,
  ObjectName,
  SourceWorkload,
  StoredObject,
} from "../../../src/console/sources.ts";

/** Counters of Envoys that the test moves: by caller, then by cluster. */
export type Traffic = Record<string, Record<string, Partial<Counters>>>;

export interface Counters {
  completed: number;
  errors: number;
  connections: number;
  handshakes: number;
}

export interface ScriptedSources extends ConsoleSources {
  readonly traffic: Traffic;
  /** Files below what is applied. */
  readonly files: Map<string, StoredObject>;
  readonly applied: Map<string, StoredObject>;
  /** How often agents were asked. */
  asked: number;
  readonly askedBy: Map<string, number>;
  /** What an agent does instead of answering; by workload. */
  readonly agents: Map<string, () => Promise<never>>;
  /** What agents answer besides their samples, by path. */
  readonly pages: Map<string, unknown>;
  control: ControlPlaneState;
  /** What analyze finds in the objects as they are. */
  findings: readonly ObjectFinding[];
  readonly done: string[];
  /** Logs that somebody follows now. */
  following(): readonly string[];
  /** Lines of a log for whoever follows it. */
  writeLog(id: string, part: "app" | "agent", lines: readonly string[]): void;
}

export const HOST = "reviews.shop.svc.cluster.local";

/** A shop with one caller, `front`, and `reviews` in two versions, whose agents and objects the test sets. */
export function scriptedSources(): ScriptedSources {
  const traffic: Traffic = {};
  const files = new Map<string, StoredObject>();
  const applied = new Map<string, StoredObject>();
  const agents = new Map<string, () => Promise<never>>();
  const done: string[] = [];
  const followers = new Set<{ readonly log: string; onLines(lines: readonly string[]): void }>();
  let revision = 0;
  const key = ({ kind, namespace, name }: ObjectName) => `${kind}/${namespace}/${name}`;
  const sources: ScriptedSources = {
    traffic,
    files,
    applied,
    agents,
    done,
    asked: 0,
    askedBy: new Map(),
    pages: new Map(),
    control: { phase: "running" },
    findings: [],
    following: () => [...followers].map(({ log }) => log),
    writeLog(id, part, lines) {
      for (const { log, onLines } of followers) if (log === `${id}/${part}`) onLines(lines);
    },
    identity: { version: "test", scope: "mesh", name: "shop", namespace: "shop", startedAt: 0 },
    entries: () => ({ front: "http://127.0.0.1:8480" }),
    services: () => [service("front", true), service("reviews", false)],
    workloads: () => [
      workload("front", "front"),
      workload("reviews-v1", "reviews", "v1"),
      workload("reviews-v2", "reviews", "v2"),
    ],
    controlPlane: async () => sources.control,
    problems: () => [],
    objects: {
      canWrite: true,
      list: async () => ({
        revision: String(revision),
        objects: [...new Map([...files, ...applied]).values()].map((object) => {
          const under = applied.has(key(object)) ? files.get(key(object))?.document : undefined;
          return { ...object, overrides: under !== undefined, ...(under === undefined ? {} : { under }) };
        }),
        problems: [],
      }),
      async put(object) {
        revision += 1;
        applied.set(key(object), { ...object, origin: "applied", overrides: false });
      },
      async remove(name) {
        revision += 1;
        if (!applied.delete(key(name))) throw new Error(`${key(name)} has not been applied`);
      },
      analyze: async () => sources.findings,
    },
    logs: {
      async follow(id, part, { tail, signal, onLines }) {
        onLines(Array.from({ length: tail }, (_, at) => `${id}/${part} line ${at}`));
        const follower = { log: `${id}/${part}`, onLines };
        followers.add(follower);
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        followers.delete(follower);
      },
    },
    parts: {
      killEnvoy: async (name) => void done.push(`kill ${name}`),
      stopControlPlane: async () => void done.push("stop"),
      startControlPlane: async () => void done.push("start"),
    },
  };
  const accessOf = (id: string): AgentAccess => ({
    get: async (path) => {
      sources.asked += 1;
      sources.askedBy.set(id, (sources.askedBy.get(id) ?? 0) + 1);
      await agents.get(id)?.();
      const page = sources.pages.get(path);
      if (page !== undefined) return { status: 200, body: JSON.stringify(page) };
      if (path !== "/sample") return { status: 404, body: "not here" };
      const agent = { version: "test", reasons: [], notes: [], envoy: { phase: "running", pid: 1, exits: [] } };
      return { status: 200, body: JSON.stringify({ agent, stats: statsOf(traffic[id] ?? {}) }) };
    },
    post: async (path) => ({
      status: 200,
      body: `active loggers:\n  upstream: ${/=(\w+)/.exec(path)?.[1] ?? "info"}\n`,
    }),
  });
  const workload = (id: string, of: string, version?: string): SourceWorkload => ({
    id,
    name: id,
    namespace: "shop",
    service: of,
    ...(version === undefined ? {} : { version }),
    kind: "sidecar",
    labels: { app: of, ...(version === undefined ? {} : { version }) },
    identity: `spiffe://cluster.local/ns/shop/sa/${of}`,
    ports: [],
    restarts: [],
    access: accessOf(id),
  });
  return sources;
}

function service(name: string, entry: boolean): ServiceInfo {
  const host = `${name}.shop.svc.cluster.local`;
  return { name, namespace: "shop", host, protocol: "http", ports: [9080], entry, external: false };
}

/** As `/stats?format=json` of Envoy has them. */
export function statsOf(clusters: Record<string, Partial<Counters>>): object {
  const names = {
    completed: "upstream_rq_completed",
    errors: "upstream_rq_5xx",
    connections: "upstream_cx_total",
    handshakes: "ssl.handshake",
  };
  const stats = Object.entries(clusters).flatMap(([cluster, counters]) =>
    Object.entries(counters).map(([name, value]) => ({
      name: `cluster.${cluster}.${names[name as keyof typeof names]}`,
      value,
    })),
  );
  return { stats: [...stats, { histograms: { details: [] } }] };
}

export function fileObject(document: {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly [member: string]: unknown;
}): [string, StoredObject] {
  const { kind, metadata } = document;
  const object = { kind, namespace: metadata.namespace, name: metadata.name, document, origin: "file" as const };
  return [`${kind}/${metadata.namespace}/${metadata.name}`, { ...object, overrides: false }];
}
