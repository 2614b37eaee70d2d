import { join } from "node:path";
import { buildStamp, formatVersion } from "../../base/build-stamp.ts";
import {
  type AgentAccess,
  type ConsoleSources,
  type LogSource,
  openAgentSocket,
  type ResourceOrigins,
  type ServiceInfo,
  type SourceWorkload,
} from "../../console/index.ts";
import { httpRequest } from "../../net/http-client/http-request.ts";
import { CONTROL_PLANE } from "../build-parts.ts";
import { CONSOLE_SOCKET } from "../core/agent-environment.ts";
import { workloadLabels } from "../core/istio-objects.ts";
import { isProxyless, type MeshPlan, type Workload } from "../core/mesh-plan.ts";
import type { PartStatus } from "../core/restart-policy.ts";
import { findLogs, followLogs } from "../follow-logs.ts";
import { killPart } from "../kill-part.ts";
import { MeshError } from "../mesh-error.ts";
import type { MeshParts } from "../mesh-parts.ts";
import { entryAddresses } from "../mesh-status.ts";
import { isListening } from "../process/mesh-processes.ts";
import type { RunningMesh } from "../running-mesh.ts";
import type { StateFolder } from "../state/state-folder.ts";
import { createStoredObjects } from "./stored-objects.ts";

export interface MeshSourcesOptions {
  readonly running: RunningMesh;
  readonly parts: MeshParts;
  readonly folder: StateFolder;
  problems(): readonly string[];
  /** Where its debug pages are; undefined until it is up for the first time. */
  controlPlaneUrl(): string | undefined;
}

/** A socket's path has room for so many bytes. */
const MAX_SOCKET_PATH = 100;
const WELL_MS = 5000;
const ORIGINS_MS = 3000;
const MAX_ORIGINS_BYTES = 64 * 1024 * 1024;

/** What a console sees of a mesh on this machine, and can do to it. */
export function createMeshSources(options: MeshSourcesOptions): ConsoleSources & { close(): void } {
  const { running, parts, folder } = options;
  const links = new Map<string, AgentAccess & { close(): void }>();
  const accessTo = (name: string): AgentAccess => {
    let link = links.get(name);
    if (link === undefined) {
      link = openAgentSocket(() => socketPath(folder, parts, name));
      links.set(name, link);
    }
    return link;
  };
  const listening = new Map<string, number>();
  let since = { phase: "", at: 0 };
  /** The control plane that has said so, and until when it is believed: one that ends shows by its process. */
  let well = { pid: 0, untilAt: 0 };
  return {
    identity: {
      version: formatVersion(buildStamp),
      scope: "mesh",
      name: running.plan.name,
      namespace: running.plan.namespace,
      startedAt: Date.now(),
    },
    entries: () => entryAddresses(running.plan),
    services: () => servicesOf(running.plan),
    workloads: () =>
      running.plan.workloads.map((workload) =>
        describe(workload, { plan: running.plan, parts, access: accessTo(workload.name), listening }),
      ),
    async controlPlane() {
      const status = parts.status(CONTROL_PLANE);
      const isWell = status.phase === "running" && status.pid === well.pid && Date.now() < well.untilAt;
      const isAsked = status.phase !== "stopped" && !isWell;
      const reason = isAsked ? await parts.controlPlaneObstacle(running.plan) : undefined;
      if (isAsked && reason === undefined && status.phase === "running")
        well = { pid: status.pid, untilAt: Date.now() + WELL_MS };
      const phase =
        status.phase === "stopped"
          ? ("stopped" as const)
          : reason === undefined
            ? ("running" as const)
            : ("away" as const);
      if (since.phase !== phase) since = { phase, at: Date.now() };
      return {
        phase,
        ...(reason === undefined ? {} : { reason }),
        sinceAt: since.at,
        ...(status.phase === "running" ? { pid: status.pid } : {}),
        restarts: status.restarts,
      };
    },
    problems: options.problems,
    origins: (workload) => askOrigins(options.controlPlaneUrl(), `${workload}.${running.plan.namespace}`),
    objects: createStoredObjects(folder, running),
    logs: createLogSource(folder, running),
    parts: {
      killEnvoy: async (workload) => void killPart(parts, `${workload}/envoy`),
      stopControlPlane: () => parts.find(CONTROL_PLANE).stop(),
      startControlPlane: async () => parts.find(CONTROL_PLANE).start(),
    },
    close() {
      for (const link of links.values()) link.close();
    },
  };
}

/** Only the control plane knows what it has made of which object. */
async function askOrigins(controlPlane: string | undefined, proxy: string): Promise<readonly ResourceOrigins[]> {
  if (controlPlane === undefined) throw new MeshError("start", "the control plane is starting");
  const { status, body } = await httpRequest({
    url: `${controlPlane}/debug/explain?proxyID=${encodeURIComponent(proxy)}&origins`,
    timeoutMs: ORIGINS_MS,
    maxBytes: MAX_ORIGINS_BYTES,
  });
  if (status !== 200) throw new MeshError("start", body.trim().split("\n")[0] || `the control plane answers ${status}`);
  return JSON.parse(body) as readonly ResourceOrigins[];
}

/** Through the agent's own folder where the path itself would be too long for a socket. */
function socketPath(folder: StateFolder, parts: MeshParts, name: string): string | undefined {
  const status = parts.status(`${name}/agent`);
  if (status.phase !== "running") return undefined;
  const path = join(folder.workload(name), CONSOLE_SOCKET);
  return Buffer.byteLength(path) <= MAX_SOCKET_PATH ? path : `/proc/${status.pid}/cwd/${CONSOLE_SOCKET}`;
}

function servicesOf({ services, namespace }: MeshPlan): readonly ServiceInfo[] {
  return services.map(({ name, hostname, ports, entry, endpoints }) => ({
    name,
    namespace,
    host: hostname,
    protocol: ports[0]?.protocol ?? "http",
    ports: ports.map(({ port }) => port),
    entry,
    external: endpoints.length > 0,
  }));
}

interface DescribeInput {
  readonly plan: MeshPlan;
  readonly parts: MeshParts;
  readonly access: AgentAccess;
  /** Applications that listen, by the process that does. */
  readonly listening: Map<string, number>;
}

function describe(workload: Workload, { plan, parts, access, listening }: DescribeInput): SourceWorkload {
  const { name, service, version, address, serviceAccount, ports, app } = workload;
  const [appStatus, agentStatus] = [parts.status(`${name}/app`), parts.status(`${name}/agent`)];
  const obstacle = appObstacle(workload, appStatus, listening);
  return {
    id: name,
    name,
    namespace: plan.namespace,
    service,
    ...(version === undefined ? {} : { version }),
    kind: isProxyless(plan, workload) ? "proxyless" : workload.kind,
    address,
    app: partState(appStatus),
    agent: partState(agentStatus),
    labels: workloadLabels(workload),
    serviceAccount,
    identity: `spiffe://cluster.local/ns/${plan.namespace}/sa/${serviceAccount}`,
    calls: workload.calls.map(({ service: called }) => called),
    ports: [
      ...workload.listens.map(({ name: port, appPort }, index) => ({
        name: index === 0 ? (app === undefined ? "gateway" : "application") : port,
        port: appPort,
      })),
      { name: "status", port: ports.status },
      ...(isProxyless(plan, workload) ? [] : [{ name: "admin", port: ports.admin }]),
    ],
    capture: captureText(workload, plan),
    ...(obstacle === undefined ? {} : { obstacle }),
    restarts: (["app", "agent"] as const).flatMap((part) =>
      parts.endings(`${name}/${part}`).map(({ at, reason }) => ({ at, part, reason })),
    ),
    access,
  };
}

function partState(status: PartStatus): NonNullable<SourceWorkload["app"]> {
  if (status.phase === "running")
    return { phase: "running", pid: status.pid, sinceAt: status.since, restarts: status.restarts };
  if (status.phase === "stopped") return { phase: "stopped", restarts: status.restarts };
  return { phase: status.phase, reason: status.reason, restarts: status.restarts };
}

/** Looking for a socket reads all that a process has open: once it listens, it is taken to do so until it ends. */
function appObstacle(
  { name, app, netns, kind }: Workload,
  status: PartStatus,
  listening: Map<string, number>,
): string | undefined {
  if (kind === "gateway") return undefined;
  if (status.phase !== "running") return `${name}/app: ${"reason" in status ? status.reason : status.phase}`;
  if (app === undefined || process.platform !== "linux" || listening.get(name) === status.pid) return undefined;
  if (!isListening(status.pid, app.port, netns)) return `${name}/app: nothing listens on port ${app.port} yet`;
  listening.set(name, status.pid);
  return undefined;
}

/** What `mesh` has the kernel do, which is what the capture of a pod does. */
function captureText(workload: Workload, plan: MeshPlan): readonly string[] {
  const { calls, address, app, kind } = workload;
  const { isolation } = plan;
  if (kind === "gateway")
    return ["Nothing is captured: the gateway opens the ports of the Gateway objects that select it"];
  if (isProxyless(plan, workload))
    return ["Nothing is captured: the application speaks to its agent and to others itself"];
  if (isolation === "namespaces")
    return [
      "TCP that the application sends anywhere goes to Envoy on port 15001, except what Envoy and the agent (user 1337) send themselves",
      "TCP that comes in goes to Envoy on port 15006, except for ports 15008, 15020, 15021 and 15090",
      "DNS questions (port 53, UDP and TCP) go to the agent, which answers names of the mesh itself",
    ];
  return [
    ...(app === undefined
      ? []
      : [`Calls from the mesh come to Envoy on ${address}; Envoy passes them on to ${app.host}:${app.port}`]),
    ...calls.map(
      ({ service, host, port }) => `The application calls ${service} at ${host}:${port}, where Envoy listens`,
    ),
    "The kernel captures nothing: that needs root",
  ];
}

function createLogSource(folder: StateFolder, { plan }: RunningMesh): LogSource {
  return {
    async follow(workload, part, { tail, signal, onLines }) {
      const name = `${workload}/${part}`;
      const sources = findLogs(folder.logs, name);
      if (sources.length === 0) throw new MeshError("unknown-part", `${name} has no log in mesh ${plan.name}`);
      const show = (_: unknown, text: string) => onLines(text.replace(/\n$/, "").split("\n"));
      await followLogs(sources, { tail, follow: true, signal, show });
    },
  };
}
