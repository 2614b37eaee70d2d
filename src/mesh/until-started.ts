import type { NamedObject } from "./apply-objects.ts";
import { buildIstioObjects, type IstioObject } from "./core/istio-objects.ts";
import type { MeshPlan, Workload } from "./core/mesh-plan.ts";
import type { MeshParts } from "./mesh-parts.ts";
import { TRIAL_MS } from "./process/start-part.ts";
import type { RunningMesh } from "./running-mesh.ts";
import { untilInForce } from "./until-in-force.ts";
import { untilReadyTogether } from "./until-ready.ts";

export interface StartedOptions {
  /** As it was started. */
  readonly plan: MeshPlan;
  readonly running: Pick<RunningMesh, "aside" | "file">;
  readonly parts: MeshParts;
  /** http://HOST:PORT of the control plane's debug pages. */
  controlPlane(): string;
  readonly signal: AbortSignal;
}

/** Resolves with what is not ready when the time is over; with nothing as soon as every workload works and is called by the others. */
export async function untilStarted(options: StartedOptions, limitMs: number): Promise<readonly string[]> {
  const { plan, running, parts, signal } = options;
  const isHopeless = (index: number) => keepsCrashing(parts, plan.workloads[index]?.name ?? "");
  const questions = plan.workloads.map((workload) => () => startObstacle(workload, options));
  const waiting = await untilReadyTogether(questions, { limitMs, signal, isHopeless });
  const hasChecks = plan.workloads.some(({ healthCheck }) => healthCheck !== undefined);
  if (waiting.length > 0 || !hasChecks || signal.aborted) return waiting;
  // Those with a health check have been let in just now.
  const objects = buildIstioObjects(plan, running.file.mtls, running.aside).map(toNamed);
  return untilInForce({ objects, isDelete: false }, { plan, parts, controlPlane: options.controlPlane(), signal });
}

/** Waiting longer would only keep its user from reading why. */
function keepsCrashing(parts: MeshParts, workload: string): boolean {
  return [`${workload}/app`, `${workload}/agent`].some((part) => parts.status(part).phase === "crash-loop");
}

/** Asks for more than a moment in which it works. */
async function startObstacle(
  workload: Workload,
  { parts, running }: Pick<StartedOptions, "parts" | "running">,
): Promise<string | undefined> {
  const { name } = workload;
  const obstacle = await parts.workloadObstacle(workload);
  if (obstacle !== undefined) return obstacle;
  if (running.aside.has(name)) return `${name}/app: it works, and others do not call it yet`;
  // One that has ended by itself may do so again.
  const app = parts.status(`${name}/app`);
  const isTried = app.phase === "running" && app.restarts > 0 && Date.now() - app.since < TRIAL_MS;
  return isTried ? `${name}/app: it has ended and was started again a moment ago` : undefined;
}

function toNamed(object: IstioObject): NamedObject {
  const { kind, metadata } = object;
  return { kind, ...metadata, text: JSON.stringify(object) };
}
