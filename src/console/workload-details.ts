import { errorMessage } from "../base/coded-error.ts";
import { asJsonObject } from "../base/json-object.ts";
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  EXTENSION_TYPE,
  LISTENER_TYPE,
  ROUTE_TYPE,
  SECRET_TYPE,
} from "../xds/type-urls.ts";
import { AGENT_PATHS, type AgentSample } from "./agent-pages.ts";
import type {
  Certificate,
  CertificateError,
  CertificateState,
  DetailPart,
  DnsName,
  EnvoyState,
  RestartRecord,
  WorkloadDetail,
  WorkloadSummary,
  XdsState,
  XdsTypeState,
} from "./api.ts";
import { createConfigOrigins } from "./core/config-origins.ts";
import { type ConfigDump, describeClusters, readConfigDump } from "./core/describe-clusters.ts";
import { describeListeners, describeRoutes } from "./core/describe-routes.ts";
import { list } from "./core/route-rules.ts";
import type { AgentAccess, ConsoleSources, SourceWorkload } from "./sources.ts";

const ASK = { timeoutMs: 5000, maxBytes: 64 * 1024 * 1024 };

/** Everything about one workload, asked now; what does not come says why and hides nothing else. */
export async function readWorkloadDetail({
  source,
  summary,
  agent,
  sources,
  at,
}: DetailInput): Promise<WorkloadDetail> {
  const { labels, serviceAccount, identity, ports, capture, access } = source;
  const missing: Partial<Record<DetailPart, string>> = {};
  const ask = async <Result>(
    parts: readonly DetailPart[],
    read: (access: AgentAccess) => Promise<Result>,
  ): Promise<Result | undefined> => {
    try {
      if (access === undefined) throw new Error(source.unreachable ?? "it cannot be asked from here");
      return await read(access);
    } catch (thrown) {
      for (const part of parts) missing[part] = errorMessage(thrown);
      return undefined;
    }
  };
  const hasEnvoy = summary.kind !== "proxyless";
  const ofEnvoy = <Result>(parts: readonly DetailPart[], read: (access: AgentAccess) => Promise<Result>) => {
    if (hasEnvoy) return ask(parts, read);
    for (const part of parts) missing[part] = "it has no Envoy";
    return Promise.resolve(undefined);
  };
  // Where a control plane is away, the rest is shown without them.
  const readOrigins = async () => {
    if (!hasEnvoy || sources.origins === undefined) return NO_ORIGINS;
    const [resources, stored] = await Promise.all([
      sources.origins(source.id).catch((thrown: unknown) => {
        missing.origins = errorMessage(thrown);
        return [];
      }),
      sources.objects?.list().catch(() => undefined),
    ]);
    return createConfigOrigins(resources, stored?.objects ?? []);
  };
  const [dump, clusters, envoyState, certificates, streams, dns, origins] = await Promise.all([
    ofEnvoy(["listeners", "routes"], async (agent) =>
      readConfigDump(await readJson(agent, "/envoy/config_dump?include_eds")),
    ),
    ofEnvoy(["clusters"], (agent) => readJson(agent, "/envoy/clusters?format=json")),
    ofEnvoy(["envoyState"], async (agent) => envoyStateOf(await readJson(agent, "/envoy/server_info"))),
    ask(["certificates"], async (agent) => certificateState(await readJson(agent, AGENT_PATHS.certificates), at)),
    ask(["xds"], (agent) => readJson(agent, AGENT_PATHS.streams)),
    ask(["dns"], async (agent) => dnsNames(await readJson(agent, AGENT_PATHS.names))),
    readOrigins(),
  ]);
  if (capture === undefined) missing.capture = "it cannot be seen from here";
  return {
    ...summary,
    at,
    labels,
    ...(serviceAccount === undefined ? {} : { serviceAccount }),
    ...(identity === undefined ? {} : { identity }),
    ports,
    ...(agent === undefined ? {} : { agentVersion: agent.version }),
    restarts: restartsOf(source, agent),
    ...(envoyState === undefined ? {} : { envoyState }),
    ...(certificates === undefined ? {} : { certificates }),
    ...(streams === undefined ? {} : { xds: xdsState(streams, dump) }),
    ...(clusters === undefined || dump === undefined ? {} : { clusters: describeClusters(clusters, dump, origins) }),
    ...(dump === undefined
      ? {}
      : { listeners: describeListeners(dump, origins), routes: describeRoutes(dump, origins) }),
    ...(dns === undefined ? {} : { dns }),
    ...(capture === undefined ? {} : { capture }),
    missing,
  };
}

const NO_ORIGINS = createConfigOrigins([], []);

export interface DetailInput {
  readonly sources: Pick<ConsoleSources, "origins" | "objects">;
  readonly source: SourceWorkload;
  readonly summary: WorkloadSummary;
  /** What its agent said last. */
  readonly agent: AgentSample | undefined;
  readonly at: number;
}

/** Of the processes that are supervised here, and those of its Envoy, which its agent supervises. */
function restartsOf({ restarts }: SourceWorkload, agent: AgentSample | undefined): readonly RestartRecord[] {
  const envoy = (agent?.envoy?.exits ?? []).map(({ at, reason }) => ({ at, part: "envoy" as const, reason }));
  return [...restarts, ...envoy].sort((a, b) => b.at - a.at);
}

async function readJson(access: AgentAccess, path: string): Promise<unknown> {
  const { status, body } = await access.get(path, ASK);
  if (status !== 200) throw new Error(body.trim().split("\n")[0] || `status ${status}`);
  return JSON.parse(body);
}

function envoyStateOf(value: unknown): EnvoyState {
  const { state, version, uptime_current_epoch: up, command_line_options: options } = asJsonObject(value);
  const { restart_epoch: epoch, concurrency } = asJsonObject(options);
  return {
    state: String(state ?? "UNKNOWN"),
    version: String(version ?? "").split("/")[1] ?? "",
    upMs: Number.parseFloat(String(up ?? "0")) * 1000,
    ...(epoch === undefined ? {} : { hotRestartEpoch: Number(epoch) }),
    ...(concurrency === undefined ? {} : { concurrency: Number(concurrency) }),
  };
}

function certificateState(value: unknown, at: number): CertificateState {
  const { certificates, problem } = asJsonObject(value);
  const described = list(certificates).map(asJsonObject);
  const chainOf = (name: string) =>
    list(described.find(({ resource }) => resource === name)?.certificates)
      .map(asJsonObject)
      .map(certificate);
  const own = described.find(({ resource }) => resource === "default");
  const rotation = Date.parse(String(own?.nextRotation ?? ""));
  const chain = chainOf("default");
  return {
    chain,
    roots: chainOf("ROOTCA"),
    ...(Number.isNaN(rotation) ? {} : { rotationAt: rotation }),
    phase: chain.length > 0 ? "available" : problem === undefined ? "initializing" : "unavailable",
    errors: certificateErrors(own, problem, at),
  };
}

/** What the agent has recorded, and what stands in the way now where that is not among it: files that are missing. */
function certificateErrors(
  own: Readonly<Record<string, unknown>> | undefined,
  problem: unknown,
  at: number,
): readonly CertificateError[] {
  const failing = [own?.lastFailure, problem].filter((each) => each !== undefined).map(String);
  const recorded = list(own?.failures)
    .map(asJsonObject)
    .map((failure, index) => {
      const message = String(failure.message ?? "");
      return {
        at: Date.parse(String(failure.at)) || at,
        sinceAt: Date.parse(String(failure.since)) || at,
        count: Number(failure.count ?? 1),
        message,
        isCurrent: index === 0 && failing.includes(message),
      };
    });
  const others = failing.filter((message) => !recorded.some((each) => each.isCurrent && each.message === message));
  return [
    ...[...new Set(others)].map((message) => ({ at, sinceAt: at, count: 1, message, isCurrent: true })),
    ...recorded,
  ];
}

function certificate(value: Readonly<Record<string, unknown>>): Certificate {
  return {
    subject: String(value.subject ?? ""),
    issuer: String(value.issuer ?? ""),
    names: list(value.subjectAltNames).map((name) => String(name).replace(/^(URI|DNS|IP):/, "")),
    serial: String(value.serial ?? ""),
    notBeforeAt: Date.parse(String(value.notBefore)) || 0,
    notAfterAt: Date.parse(String(value.notAfter)) || 0,
    fingerprint: String(value.fingerprint ?? ""),
  };
}

/** The agent knows its streams, Envoy what it took and what it refused of each type. */
function xdsState(streams: unknown, dump: ConfigDump | undefined): XdsState {
  const all = list(streams).map(asJsonObject);
  const primary = all.find(({ primary: is }) => is === true) ?? all[0];
  const isConnected = primary?.source === "control-plane";
  return {
    connected: isConnected,
    ...(primary !== undefined && !isConnected
      ? { lastError: "no control plane answers; the last known good configuration is served" }
      : {}),
    ...(primary === undefined ? { lastError: "no client is connected" } : {}),
    types: (dump?.types ?? []).map(({ type, version, resources, updatedAt, refused }): XdsTypeState => {
      const changedAt = refused?.at ?? updatedAt;
      return {
        type,
        typeUrl: TYPE_URL_OF[type] ?? "",
        ...(version === undefined || version === "" ? {} : { version }),
        resources,
        state: refused !== undefined ? "nacked" : resources > 0 ? "acked" : "none",
        ...(refused === undefined ? {} : { nackText: refused.text }),
        ...(changedAt === undefined || changedAt === 0 ? {} : { changedAt }),
      };
    }),
  };
}

const TYPE_URL_OF: Readonly<Record<string, string>> = {
  CDS: CLUSTER_TYPE,
  EDS: ENDPOINT_TYPE,
  LDS: LISTENER_TYPE,
  RDS: ROUTE_TYPE,
  SDS: SECRET_TYPE,
  ECDS: EXTENSION_TYPE,
};

function dnsNames(value: unknown): readonly DnsName[] {
  return Object.entries(asJsonObject(asJsonObject(value).table))
    .filter(([name]) => !name.endsWith("."))
    .map(([name, entry]) => {
      const { ips, registry } = asJsonObject(entry);
      return {
        name,
        addresses: list(ips).map(String),
        ...(registry === undefined ? {} : { registry: String(registry) }),
      };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
