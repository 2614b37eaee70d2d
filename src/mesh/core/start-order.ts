import type { MeshPlan, Workload } from "./mesh-plan.ts";

export interface StartQuestions {
  /** Whether the processes of the workload run. */
  isStarted(workload: Workload): boolean;
  /** Why the workload is not ready; undefined when it is. */
  obstacle(workload: Workload): Promise<string | undefined>;
}

/** What a workload's application still waits for; undefined when it may start. Of several workloads of a service all are waited for. */
export async function startObjection(
  plan: MeshPlan,
  { dependsOn }: Workload,
  { isStarted, obstacle }: StartQuestions,
): Promise<string | undefined> {
  for (const { service, condition } of dependsOn) {
    for (const other of plan.workloads.filter((each) => each.service === service)) {
      const reason =
        condition === "started" ? (isStarted(other) ? undefined : "not started yet") : await obstacle(other);
      if (reason !== undefined) return `waits for ${service} (${reason})`;
    }
  }
  return undefined;
}

/** Workloads in an order in which each comes behind those that it depends on; else as they are. The file has no cycles. */
export function inStartOrder<Item extends { readonly after: Workload }>(items: readonly Item[]): readonly Item[] {
  const ordered = new Set<Item>();
  const visit = (item: Item) => {
    if (ordered.has(item)) return;
    const others = items.filter(({ after }) => item.after.dependsOn.some(({ service }) => service === after.service));
    for (const other of others) visit(other);
    ordered.add(item);
  };
  for (const item of items) visit(item);
  return [...ordered];
}
