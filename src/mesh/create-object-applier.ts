import { applyObjects, type ObjectAnswer, type ObjectRequest, takeBackObjects } from "./apply-objects.ts";
import type { Doors } from "./isolation/start-doors.ts";
import { MeshError } from "./mesh-error.ts";
import type { MeshParts } from "./mesh-parts.ts";
import type { RunningMesh } from "./running-mesh.ts";
import type { StateFolder } from "./state/state-folder.ts";
import { untilInForce } from "./until-in-force.ts";

export interface ObjectApplierOptions {
  readonly running: Pick<RunningMesh, "plan">;
  readonly parts: Pick<MeshParts, "status" | "controlPlaneObstacle">;
  readonly folder: StateFolder;
  readonly doors: Pick<Doors, "controlPlane">;
  readonly signal: AbortSignal;
}

/** `mesh apply` of Istio objects: nothing is written that has no reader, and what is written is in force when it resolves. */
export function createObjectApplier(options: ObjectApplierOptions): (request: ObjectRequest) => Promise<ObjectAnswer> {
  const { running, parts, folder, doors, signal } = options;
  return async ({ objects, isDelete }) => {
    const obstacle = await parts.controlPlaneObstacle(running.plan);
    if (obstacle !== undefined) {
      throw new MeshError("start", `the control plane is away, nothing was changed: ${obstacle}`);
    }
    const done = isDelete ? takeBackObjects(folder, objects) : objects;
    if (!isDelete) applyObjects(folder, objects);
    const { plan } = running;
    const inForce = { plan, parts, controlPlane: doors.controlPlane(), signal };
    const problems = done.length === 0 ? [] : await untilInForce({ objects: done, isDelete }, inForce);
    return { done: done.map(({ kind, namespace, name }) => ({ kind, namespace, name })), problems };
  };
}
