import type { HistoryMark, MeshState } from "../api.ts";

/** What happened between two states: the control plane came or went, a process was started again, rules became wrong. */
export function stateMarks(before: MeshState | undefined, after: MeshState): readonly HistoryMark[] {
  if (before === undefined) return [];
  const { at } = after;
  const marks: HistoryMark[] = [];
  if (before.controlPlane.phase !== after.controlPlane.phase) {
    const reason = after.controlPlane.reason === undefined ? "" : `: ${after.controlPlane.reason}`;
    marks.push({ at, kind: "control-plane", text: `The control plane is ${after.controlPlane.phase}${reason}` });
  }
  const known = new Map(before.workloads.map((workload) => [workload.id, workload]));
  for (const workload of after.workloads) {
    const was = known.get(workload.id);
    for (const part of ["app", "agent", "envoy"] as const) {
      const [now, then] = [workload[part]?.restarts, was?.[part]?.restarts];
      if (now !== undefined && then !== undefined && now > then)
        marks.push({ at, kind: "restart", text: `${workload.name}/${part} was started again` });
    }
  }
  for (const problem of after.problems)
    if (!before.problems.includes(problem)) marks.push({ at, kind: "problem", text: problem });
  return marks;
}
