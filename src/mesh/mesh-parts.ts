import { errorMessage } from "../base/coded-error.ts";
import { httpRequest } from "../net/http-client/http-request.ts";
import { CONTROL_PLANE } from "./build-parts.ts";
import type { MeshPlan, Workload } from "./core/mesh-plan.ts";
import type { PartStatus } from "./core/restart-policy.ts";
import { MeshError } from "./mesh-error.ts";
import { isListening } from "./process/mesh-processes.ts";
import { type Part, type PartEvent, type PartSpec, startPart } from "./process/start-part.ts";
import type { Say } from "./start-options.ts";
import type { StateRecord } from "./state/mesh-state.ts";

/** All supervised processes of a mesh, by name: `control-plane`, `WORKLOAD/agent`, `WORKLOAD/app`. */
export interface MeshParts {
  /** Starts it, replacing one that has been stopped. Throws when everything is being stopped. */
  add(spec: PartSpec): void;
  /** Stops it for good. */
  remove(name: string): Promise<void>;
  /** Throws for a name that is not there. */
  find(name: string): Part;
  /** One that is not there is stopped. */
  status(name: string): PartStatus;
  /** Why the part is not ready; undefined when it is. */
  controlPlaneObstacle(plan: MeshPlan): Promise<string | undefined>;
  agentObstacle(workload: Workload): Promise<string | undefined>;
  workloadObstacle(workload: Workload): Promise<string | undefined>;
  /** Workloads first and the control plane last: none loses what it still needs. */
  stop(): Promise<void>;
}

const ASK_MS = 1000;

export function createMeshParts(state: StateRecord, say: Say): MeshParts {
  const parts = new Map<string, Part>();
  let isStopping = false;
  const onEvent = (event: PartEvent) => {
    if (event.type === "started") return recordStart(state, event, say);
    if (isStopping) return;
    const again = `starting it again in ${(event.delayMs / 1000).toFixed(1)} s`;
    say("warn", `${event.name}: ${event.reason}; ${again}${event.isLoop ? " (it keeps ending)" : ""}`);
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
  const agentObstacle = async ({ name, ports, address, netns }: Workload) =>
    processObstacle(`${name}/agent`) ??
    ask(`http://${netns === undefined ? "127.0.0.1" : address}:${ports.status}/healthz/ready`);
  return {
    add(spec) {
      if (isStopping) throw new MeshError("start", "interrupted");
      parts.set(spec.name, startPart(spec, onEvent));
    },
    find,
    status: statusOf,
    async remove(name) {
      await parts.get(name)?.stop();
      parts.delete(name);
      const { [name]: _, ...processes } = state.current.processes;
      state.update({ processes });
    },
    controlPlaneObstacle: async ({ controlPlane }) =>
      processObstacle(CONTROL_PLANE) ?? ask(`http://${controlPlane.host}:${controlPlane.ports.http}/ready`),
    agentObstacle,
    async workloadObstacle(workload) {
      const agent = await agentObstacle(workload);
      if (agent !== undefined) return `${workload.name}/agent: ${agent}`;
      const app = processObstacle(`${workload.name}/app`) ?? appObstacle(workload, statusOf(`${workload.name}/app`));
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

function appObstacle({ app }: Workload, status: PartStatus): string | undefined {
  if (app === undefined || status.phase !== "running" || process.platform !== "linux") return undefined;
  return isListening(status.pid, app.port) ? undefined : `nothing listens on port ${app.port} yet`;
}

async function ask(url: string): Promise<string | undefined> {
  try {
    const { status, body } = await httpRequest({ url, timeoutMs: ASK_MS });
    return status === 200 ? undefined : body.trim().split("\n")[0] || `answers ${status}`;
  } catch (thrown) {
    return errorMessage(thrown);
  }
}
