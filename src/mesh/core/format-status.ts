import type { MeshStatus, WorkloadStatus } from "../mesh-status.ts";
import type { PartStatus } from "./restart-policy.ts";

/** The table of `mesh status`. */
export function formatStatus(status: MeshStatus): string {
  const rows = [
    ["WORKLOAD", "READY", "ADDRESS", "APP", "AGENT", "ENVOY", "RESTARTS", "REASON"],
    ...status.workloads.map(workloadRow),
    [
      "control plane",
      status.controlPlane.ready ? "yes" : "no",
      "",
      "",
      partText(status.controlPlane),
      "",
      String(status.controlPlane.restarts),
      status.controlPlane.reason ?? "",
    ],
  ];
  const head = `mesh ${status.name}, isolation ${status.isolation}, up since ${status.startedAt}, process ${status.pid}\n\n`;
  const entries = Object.entries(status.entries).map(([name, url]) => {
    const local = status.localEntries[name];
    return `${name}: ${local === undefined ? url : `${local} (${url})`}\n`;
  });
  const problems = status.problems.map((problem) => `problem: ${problem}\n`);
  return [head, table(rows), ...(entries.length + problems.length > 0 ? ["\n"] : []), ...entries, ...problems].join("");
}

function workloadRow(workload: WorkloadStatus): readonly string[] {
  const { name, kind, ready, address, app, agent, envoyPid, envoyRestarts, reason = "" } = workload;
  return [
    name,
    ready ? "yes" : "no",
    address,
    kind === "gateway" ? "-" : partText(app),
    partText(agent),
    envoyPid === undefined ? "-" : String(envoyPid),
    String(app.restarts + agent.restarts + envoyRestarts),
    // The name stands at the start of the row already.
    reason.startsWith(`${name}/`) ? reason.slice(name.length + 1) : reason,
  ];
}

/** The process number, or why there is none. */
function partText(part: PartStatus): string {
  return part.phase === "running" ? String(part.pid) : part.phase;
}

/** Columns as wide as their widest text. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows
    .map(
      (row) =>
        `${row
          .map((text, column) => text.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}
