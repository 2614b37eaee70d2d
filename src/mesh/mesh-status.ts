import { CONTROL_PLANE } from "./build-parts.ts";
import { entryPorts } from "./core/entry-ports.ts";
import type { EnvoyLife } from "./core/envoy-life.ts";
import type { Health } from "./core/health-state.ts";
import type { ServiceKind } from "./core/mesh-file.ts";
import { type Isolation, isProxyless, type MeshPlan, type Workload } from "./core/mesh-plan.ts";
import type { PartStatus } from "./core/restart-policy.ts";
import type { Doors } from "./isolation/start-doors.ts";
import type { Relays } from "./isolation/start-relays.ts";
import type { MeshParts } from "./mesh-parts.ts";
import { envoysOf } from "./process/mesh-processes.ts";
import type { StateRecord } from "./state/mesh-state.ts";
import type { StateFolder } from "./state/state-folder.ts";

/** What `mesh status -o json` prints. */
export interface MeshStatus {
  readonly name: string;
  readonly namespace: string;
  readonly isolation: Isolation;
  readonly startedAt: string;
  readonly pid: number;
  readonly stateFolder: string;
  readonly controlPlane: PartStatus & { readonly ready: boolean; readonly reason?: string; readonly debug: string };
  readonly workloads: readonly WorkloadStatus[];
  /** Where services are reached from outside the mesh. */
  readonly entries: Readonly<Record<string, string>>;
  /** The same on localhost, where the ports of the services are free. */
  readonly localEntries: Readonly<Record<string, string>>;
  /** What is wrong with the configuration now; the last good one is in force. */
  readonly problems: readonly string[];
}

export interface WorkloadStatus {
  readonly name: string;
  readonly service: string;
  readonly version?: string | undefined;
  readonly kind: ServiceKind;
  readonly address: string;
  /** Ports of its service, by name. */
  readonly listens: Readonly<Record<string, number>>;
  readonly ready: boolean;
  readonly reason?: string;
  /** What its health check says; absent without one. */
  readonly health?: Health;
  /** Of a gateway always stopped: it has none. */
  readonly app: PartStatus;
  readonly agent: PartStatus;
  /** Undefined while it is being started. */
  readonly envoyPid: number | undefined;
  /** Times that its agent has started it again after a failure. */
  readonly envoyRestarts: number;
  /** Where Envoy's admin pages are, for this machine; undefined without Envoy. */
  readonly admin: string | undefined;
  readonly ports: { readonly admin: number; readonly status: number };
}

export interface StatusSources {
  readonly plan: MeshPlan;
  readonly parts: MeshParts;
  readonly folder: StateFolder;
  readonly state: StateRecord;
  readonly problems: readonly string[];
  readonly doors: Doors;
  readonly relays: Pick<Relays, "entries">;
  envoy(workload: string): EnvoyLife;
  health(workload: Workload): Health | undefined;
}

export async function readMeshStatus(sources: StatusSources): Promise<MeshStatus> {
  const { plan, parts, folder, state, problems, doors } = sources;
  const { startedAt, parent } = state.current;
  const control = await parts.controlPlaneObstacle(plan);
  return {
    name: plan.name,
    namespace: plan.namespace,
    isolation: plan.isolation,
    startedAt,
    pid: parent.pid,
    stateFolder: folder.path,
    controlPlane: {
      ...parts.status(CONTROL_PLANE),
      ready: control === undefined,
      ...reasonOf(control),
      debug: `${doors.controlPlane()}/debug`,
    },
    workloads: await Promise.all(
      plan.workloads.map(async (workload): Promise<WorkloadStatus> => {
        const { name, service, version, kind, address, ports, listens } = workload;
        const health = sources.health(workload);
        const obstacle = await parts.workloadObstacle(workload);
        const agent = parts.status(`${name}/agent`);
        return {
          name,
          service,
          version,
          kind,
          address,
          listens: Object.fromEntries(listens.map((each) => [each.name, each.port])),
          ...(health === undefined ? {} : { health }),
          ready: obstacle === undefined,
          ...reasonOf(obstacle),
          app: parts.status(`${name}/app`),
          agent,
          envoyPid: agent.phase === "running" ? envoysOf(agent.pid)[0] : undefined,
          envoyRestarts: sources.envoy(name).restarts,
          admin: isProxyless(plan, workload) ? undefined : doors.admin(workload),
          ports: { admin: ports.admin, status: ports.status },
        };
      }),
    ),
    entries: entryAddresses(plan),
    localEntries: localEntries(plan, sources.relays),
    problems,
  };
}

export function localEntries(plan: MeshPlan, relays: Pick<Relays, "entries">): Readonly<Record<string, string>> {
  const open = relays.entries();
  return Object.fromEntries(
    entryPorts(plan)
      .filter(({ entry, isOnMachine }) => isOnMachine || open[entry] !== undefined)
      .map(({ entry, scheme, port }) => [entry, `${scheme}://localhost:${port}`]),
  );
}

/** The sidecar of the first workload, or a gateway: its address accepts plain text. */
export function entryAddresses(plan: MeshPlan): Readonly<Record<string, string>> {
  return Object.fromEntries(
    entryPorts(plan).map(({ entry, scheme, machineHost, port }) => [entry, `${scheme}://${machineHost}:${port}`]),
  );
}

function reasonOf(reason: string | undefined): { readonly reason?: string } {
  return reason === undefined ? {} : { reason };
}
