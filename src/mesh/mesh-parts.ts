import { errorMessage } from "../base/coded-error.ts";
import { httpRequest } from "../net/http-client/http-request.ts";
import { CONTROL_PLANE } from "./build-parts.ts";
import type { EnvoyLife } from "./core/envoy-life.ts";
import type { Health } from "./core/health-state.ts";
import type { MeshPlan, Workload } from "./core/mesh-plan.ts";
import type { PartStatus } from "./core/restart-policy.ts";
import { MeshError } from "./mesh-error.ts";
import { holdPart } from "./process/hold-part.ts";
import { isListening } from "./process/mesh-processes.ts";
import { type Part, type PartEvent, type PartSpec, startPart } from "./process/start-part.ts";
import type { Say } from "./start-options.ts";
import type { StateRecord } from "./state/mesh-state.ts";

/** All supervised processes of a mesh, by name: `control-plane`, `WORKLOAD/agent`, `WORKLOAD/app`. */
export interface MeshParts {
  /** Starts it, replacing one that has been stopped. Throws when everything is being stopped. */
  add(spec: PartSpec): void;
  /** Starts it as soon as there is no objection; until then the objection is its status. */
  addLater(spec: PartSpec, objection: () => Promise<string | undefined>): void;
  /** Stops it for good. */
  remove(name: string): Promise<void>;
  /** Throws for a name that is not there. */
  find(name: string): Part;
  /** One that is not there is stopped. */
  status(name: string): PartStatus;
  /** How its process ended the last times that it was not meant to, newest first. */
  endings(name: string): readonly PartEnding[];
  /** Why the part is not ready; undefined when it is. */
  controlPlaneObstacle(plan: MeshPlan): Promise<string | undefined>;
  agentObstacle(workload: Workload): Promise<string | undefined>;
  workloadObstacle(workload: Workload): Promise<string | undefined>;
  /** Workloads first and the control plane last: none loses what it still needs. */
  stop(): Promise<void>;
}

export interface PartEnding {
  readonly at: number;
  readonly reason: string;
}

const ASK_MS = 1000;
const MAX_ENDINGS = 20;

export interface MeshPartsOptions {
  /** What is known of the Envoy of a workload beside what its agent answers. */
  envoy?(workload: string): EnvoyLife;
  /** Whether the part's output is shown as it comes: its last lines are known then. */
  isShown?(part: string): boolean;
  /** What health checks say of the application of a workload. */
  health?(workload: Workload): Health | undefined;
}

export function createMeshParts(state: StateRecord, say: Say, options: MeshPartsOptions = {}): MeshParts {
  const parts = new Map<string, Part>();
  const endings = new Map<string, readonly PartEnding[]>();
  let isStopping = false;
  const onEvent = (event: PartEvent) => {
    if (event.type === "started") return recordStart(state, event, say);
    if (isStopping) return;
    const before = endings.get(event.name) ?? [];
    endings.set(event.name, [{ at: Date.now(), reason: event.reason }, ...before].slice(0, MAX_ENDINGS));
    const again = `starting it again in ${(event.delayMs / 1000).toFixed(1)} s`;
    // Somebody who kills a process knows why.
    const isKnown = options.isShown?.(event.name) || event.reason === "ended by SIGKILL";
    const lines = isKnown ? [] : event.lastLines.map((line) => `\n  ${event.name} | ${line}`);
    say("warn", `${event.name}: ${event.reason}; ${again}${event.isLoop ? " (it keeps ending)" : ""}${lines.join("")}`);
  };
  const find = (name: string): Part => {
    const part = parts.get(name);
    if (part === undefined)
      throw new MeshError("unknown-part", `there is no ${name}; there are ${[...parts.keys()].join(", ")}`);
    return part;
  };
  const statusOf = (name: string): PartStatus => parts.get(name)?.status() ?? { phase: "stopped", restarts: 0 };
  const processObstacle = (name: string): string | undefined => {
    const status = statusOf(name);
    return status.phase === "running" ? undefined : "reason" in status ? status.reason : status.phase;
  };
  const agentObstacle = async ({ name, ports, address, netns }: Workload) => {
    const obstacle =
      processObstacle(`${name}/agent`) ??
      (await ask(`http://${netns === undefined ? "127.0.0.1" : address}:${ports.status}/healthz/ready`));
    const failure = options.envoy?.(name).failure;
    return obstacle === undefined || failure === undefined ? obstacle : `Envoy does not start: ${failure}`;
  };
  return {
    add(spec) {
      if (isStopping) throw new MeshError("start", "interrupted");
      parts.set(spec.name, startPart(spec, onEvent));
    },
    addLater(spec, objection) {
      if (isStopping) throw new MeshError("start", "interrupted");
      parts.set(
        spec.name,
        holdPart(spec, objection, (ready) => startPart(ready, onEvent)),
      );
    },
    find,
    status: statusOf,
    endings: (name) => endings.get(name) ?? [],
    async remove(name) {
      await parts.get(name)?.stop();
      parts.delete(name);
      endings.delete(name);
      const { [name]: _, ...processes } = state.current.processes;
      state.update({ processes });
    },
    controlPlaneObstacle: async ({ controlPlane }) =>
      processObstacle(CONTROL_PLANE) ?? ask(`http://${controlPlane.host}:${controlPlane.ports.http}/ready`),
    agentObstacle,
    async workloadObstacle(workload) {
      const agent = await agentObstacle(workload);
      if (agent !== undefined) return `${workload.name}/agent: ${agent}`;
      if (workload.kind === "gateway") return undefined;
      const app =
        processObstacle(`${workload.name}/app`) ??
        appObstacle(workload, statusOf(`${workload.name}/app`)) ??
        healthObstacle(options.health?.(workload));
      return app === undefined ? undefined : `${workload.name}/app: ${app}`;
    },
    async stop() {
      isStopping = true;
      const [control, others] = [
        parts.get(CONTROL_PLANE),
        [...parts.values()].filter(({ name }) => name !== CONTROL_PLANE),
      ];
      await Promise.all(others.map((part) => part.stop()));
      await control?.stop();
    },
  };
}

/** The mark on the process finds it too; so a full disk is worth a warning and no more. */
function recordStart(state: StateRecord, { name, identity }: Extract<PartEvent, { type: "started" }>, say: Say): void {
  if (identity === undefined) return;
  try {
    state.update({ processes: { ...state.current.processes, [name]: identity } });
  } catch (thrown) {
    say("warn", errorMessage(thrown));
  }
}

function appObstacle({ listens, netns }: Workload, status: PartStatus): string | undefined {
  if (status.phase !== "running" || process.platform !== "linux") return undefined;
  const silent = listens.find(({ appPort }) => !isListening(status.pid, appPort, netns));
  return silent === undefined ? undefined : `nothing listens on port ${silent.appPort} yet`;
}

function healthObstacle(health: Health | undefined): string | undefined {
  return health === undefined || health.state === "healthy" ? undefined : health.reason;
}

async function ask(url: string): Promise<string | undefined> {
  try {
    const { status, body } = await httpRequest({ url, timeoutMs: ASK_MS });
    return status === 200 ? undefined : body.trim().split("\n")[0] || `answers ${status}`;
  } catch (thrown) {
    return errorMessage(thrown);
  }
}
