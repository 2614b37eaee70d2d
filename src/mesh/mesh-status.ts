import { CONTROL_PLANE } from "./build-parts.ts";
import type { Isolation, MeshPlan } from "./core/mesh-plan.ts";
import type { PartStatus } from "./core/restart-policy.ts";
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
  readonly controlPlane: PartStatus & { readonly ready: boolean; readonly reason?: string };
  readonly workloads: readonly WorkloadStatus[];
  /** Where services are reached from outside the mesh. */
  readonly entries: Readonly<Record<string, string>>;
  /** What is wrong with the configuration now; the last good one is in force. */
  readonly problems: readonly string[];
}

export interface WorkloadStatus {
  readonly name: string;
  readonly service: string;
  readonly version?: string | undefined;
  readonly address: string;
  readonly ready: boolean;
  readonly reason?: string;
  readonly app: PartStatus;
  readonly agent: PartStatus;
  /** Undefined while it is being started. */
  readonly envoyPid: number | undefined;
  readonly ports: { readonly admin: number; readonly status: number };
}

export interface StatusSources {
  readonly plan: MeshPlan;
  readonly parts: MeshParts;
  readonly folder: StateFolder;
  readonly state: StateRecord;
  readonly problems: readonly string[];
}

export async function readMeshStatus({ plan, parts, folder, state, problems }: StatusSources): Promise<MeshStatus> {
  const { startedAt, parent } = state.current;
  const control = await parts.controlPlaneObstacle(plan);
  return {
    name: plan.name,
    namespace: plan.namespace,
    isolation: plan.isolation,
    startedAt,
    pid: parent.pid,
    stateFolder: folder.path,
    controlPlane: { ...parts.status(CONTROL_PLANE), ready: control === undefined, ...reasonOf(control) },
    workloads: await Promise.all(
      plan.workloads.map(async (workload): Promise<WorkloadStatus> => {
        const { name, service, version, address, ports } = workload;
        const obstacle = await parts.workloadObstacle(workload);
        const agent = parts.status(`${name}/agent`);
        return {
          name,
          service,
          version,
          address,
          ready: obstacle === undefined,
          ...reasonOf(obstacle),
          app: parts.status(`${name}/app`),
          agent,
          envoyPid: agent.phase === "running" ? envoysOf(agent.pid)[0] : undefined,
          ports: { admin: ports.admin, status: ports.status },
        };
      }),
    ),
    entries: entryAddresses(plan),
    problems,
  };
}

/** The sidecar of the first workload: its address accepts plain text. */
export function entryAddresses(plan: MeshPlan): Readonly<Record<string, string>> {
  return Object.fromEntries(
    plan.services.flatMap(({ name, entry, port, protocol }) => {
      const workload = plan.workloads.find(({ service }) => service === name);
      if (!entry || workload === undefined) return [];
      return [[name, `${protocol === "tcp" ? "tcp" : "http"}://${workload.address}:${port}`]];
    }),
  );
}

function reasonOf(reason: string | undefined): { readonly reason?: string } {
  return reason === undefined ? {} : { reason };
}
