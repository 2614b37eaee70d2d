import { isDeepStrictEqual } from "node:util";
import type { MeshPlan, PlannedService, Workload } from "./mesh-plan.ts";

/** What has to happen for one plan to become another. */
export interface MeshChanges {
  readonly added: readonly Workload[];
  readonly removed: readonly Workload[];
  readonly changed: readonly ChangedWorkload[];
  /** As they are in the new plan; their processes go on. */
  readonly unchanged: readonly Workload[];
  /** What changes for services themselves, a line each. */
  readonly services: readonly string[];
}

export interface ChangedWorkload {
  readonly before: Workload;
  readonly after: Workload;
  /** Members of the file. */
  readonly why: readonly string[];
  /** No other instance answers while it restarts. */
  readonly isAlone: boolean;
}

export function meshChanges(
  before: MeshPlan,
  after: MeshPlan,
  /** False for one that an earlier change has left without its processes. */
  isRunning: (workload: Workload) => boolean = () => true,
): MeshChanges {
  const old = new Map(before.workloads.map((workload) => [workload.name, workload]));
  const names = new Set(after.workloads.map(({ name }) => name));
  const pairs = after.workloads.flatMap((workload) => {
    const known = old.get(workload.name);
    if (known === undefined) return [];
    const why = [...differences(known, workload), ...(isRunning(known) ? [] : ["does not run"])];
    return [{ before: known, after: workload, why }];
  });
  return {
    added: after.workloads.filter(({ name }) => !old.has(name)),
    removed: before.workloads.filter(({ name }) => !names.has(name)),
    changed: pairs
      .filter(({ why }) => why.length > 0)
      .map((pair) => ({ ...pair, isAlone: isAlone(after, pair.after) })),
    unchanged: pairs.filter(({ why }) => why.length === 0).map((pair) => pair.after),
    services: serviceChanges(before.services, after.services),
  };
}

/**
 * The plan while changes are made: everything that runs or is about to. Services that go stay as long as somebody answers for them, and
 * workloads that change are still as they were.
 */
export function plansTogether(before: MeshPlan, after: MeshPlan): MeshPlan {
  const changed = new Map(meshChanges(before, after).changed.map((each) => [each.after.name, each.before]));
  const together = <Named extends { readonly name: string }>(now: readonly Named[], old: readonly Named[]) => [
    ...now,
    ...old.filter(({ name }) => !now.some((each) => each.name === name)),
  ];
  return {
    ...after,
    services: together(after.services, before.services),
    workloads: together(
      after.workloads.map((workload) => changed.get(workload.name) ?? workload),
      before.workloads,
    ),
  };
}

/** What `mesh apply` prints before it begins, and all that `--dry-run` prints. */
export function formatChanges({ added, removed, changed, unchanged, services }: MeshChanges): string {
  const width = Math.max(
    0,
    ...[...added, ...removed, ...changed.map(({ after }) => after)].map(({ name }) => name.length),
  );
  const line = (sign: string, name: string, text: string) => `  ${sign} ${name.padEnd(width)}  ${text}\n`;
  const lines = [
    ...services.map((text) => `  service ${text}\n`),
    ...added.map(({ name }) => line("+", name, "starts")),
    ...changed.map(({ after, why, isAlone }) =>
      line("~", after.name, `restarts: ${why.join(", ")}${isAlone ? " (the only one: calls fail meanwhile)" : ""}`),
    ),
    ...removed.map(({ name }) => line("-", name, "ends")),
  ];
  if (lines.length === 0) return "nothing changes\n";
  return `${lines.join("")}  ${unchanged.length} of ${unchanged.length + changed.length + removed.length} workloads stay as they are\n`;
}

/** Members whose change an application or its agent only sees when it starts. */
const MEMBERS = ["service", "version", "kind", "command", "directory", "env", "labels", "serviceAccount"] as const;

function differences(before: Workload, after: Workload): readonly string[] {
  const members = MEMBERS.filter((member) => !isDeepStrictEqual(before[member], after[member]));
  return [
    ...members,
    ...(isDeepStrictEqual(ownPorts(before), ownPorts(after)) ? [] : ["port"]),
    ...(isDeepStrictEqual(before.healthCheck, after.healthCheck) ? [] : ["healthcheck"]),
    ...(callsDiffer(before, after) ? ["calls"] : []),
  ];
}

/** What the application sees of its ports: their names where there are several. */
function ownPorts({ app, listens }: Workload): unknown {
  const ports = listens.map(({ name, appPort }) => ({ name: listens.length > 1 ? name : "", appPort }));
  return app === undefined ? [] : [app, ports];
}

/**
 * A workload that may call everything is not restarted because there is one service more or less: it has done without so far. Its
 * sidecar knows the service at once, its environment from its next start on.
 */
function callsDiffer(before: Workload, after: Workload): boolean {
  if (!before.callsAll || !after.callsAll) return !isDeepStrictEqual(before.calls, after.calls);
  const known = new Map(before.calls.map((call) => [call.service, call]));
  return after.calls.some((call) => known.has(call.service) && !isDeepStrictEqual(known.get(call.service), call));
}

function isAlone(plan: MeshPlan, { service, app }: Workload): boolean {
  return app !== undefined && plan.workloads.filter((each) => each.service === service).length === 1;
}

function serviceChanges(before: readonly PlannedService[], after: readonly PlannedService[]): readonly string[] {
  const old = new Map(before.map((service) => [service.name, service]));
  const names = new Set(after.map(({ name }) => name));
  return [
    ...after.flatMap((service) => {
      const known = old.get(service.name);
      if (known === undefined) return [`${service.name} is new, on port ${describe(service).port}`];
      const now = describe(service);
      const texts = Object.entries(describe(known)).filter(([key, was]) => now[key] !== was);
      return texts.map(([key, was]) => `${service.name}: ${key} ${was} becomes ${now[key]}`);
    }),
    ...before.filter(({ name }) => !names.has(name)).map(({ name }) => `${name} goes away`),
  ];
}

/** In the file's words. */
function describe({ ports, entry, endpoints }: PlannedService): Readonly<Record<string, string>> {
  const [first] = ports;
  const isAlone = ports.length === 1;
  return {
    port: isAlone ? String(first?.port) : ports.map(({ name, port }) => `${name} ${port}`).join(", "),
    protocol: isAlone ? (first?.protocol ?? "") : ports.map(({ name, protocol }) => `${name} ${protocol}`).join(", "),
    entry: String(entry),
    address: endpoints.map(endpointText).join(", ") || "none",
  };
}

function endpointText({ host, ports, labels, relays }: PlannedService["endpoints"][number]): string {
  const there = relays.length > 0 ? relays.map(({ to }) => to) : Object.values(ports).map((port) => ({ host, port }));
  const texts = there.map((each) => `${each.host}:${each.port}`);
  const words = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return [...texts, ...words].join(" ");
}
