import { MeshError } from "./mesh-error.ts";
import type { MeshParts } from "./mesh-parts.ts";
import { envoysOf } from "./process/mesh-processes.ts";

/** The process number of what was killed. Envoy is the agent's child, not a part of its own: the agent has to bring it back. */
export function killPart(parts: MeshParts, name: string): number | undefined {
  const [, workload] = /^(.+)\/envoy$/.exec(name) ?? [];
  const part = parts.find(workload === undefined ? name : `${workload}/agent`);
  const status = part.status();
  if (status.phase !== "running") throw new MeshError("unknown-part", `${name} does not run now`);
  if (workload === undefined) {
    part.kill("SIGKILL");
    return status.pid;
  }
  const [envoy] = envoysOf(status.pid);
  if (envoy === undefined) throw new MeshError("unknown-part", `${name} does not run now`);
  process.kill(envoy, "SIGKILL");
  return envoy;
}
