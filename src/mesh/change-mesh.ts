import { wait } from "../base/wait.ts";
import type { ConfigFiles } from "./config-files.ts";
import type { Health } from "./core/health-state.ts";
import { buildIstioObjects } from "./core/istio-objects.ts";
import { type ChangedWorkload, type MeshChanges, meshChanges, plansTogether } from "./core/mesh-changes.ts";
import type { MeshPlan, Workload } from "./core/mesh-plan.ts";
import { inStartOrder } from "./core/start-order.ts";
import type { Doors } from "./isolation/start-doors.ts";
import type { Relays } from "./isolation/start-relays.ts";
import type { MeshParts } from "./mesh-parts.ts";
import type { RunningMesh } from "./running-mesh.ts";
import type { Say } from "./start-options.ts";
import type { StateRecord } from "./state/mesh-state.ts";
import { untilReady } from "./until-ready.ts";
import type { WorkloadLife } from "./workload-life.ts";

export interface ChangeMeshOptions {
  readonly running: RunningMesh;
  readonly parts: MeshParts;
  readonly life: WorkloadLife;
  readonly config: ConfigFiles;
  readonly state: StateRecord;
  readonly relays: Relays;
  readonly doors: Pick<Doors, "follow" | "controlPlane">;
  /** What health checks say of the application of a workload. */
  health(workload: Workload): Health | undefined;
  readonly report: Say;
  readonly signal: AbortSignal;
}

const READY_MS = 30_000;
/**
 * From a written file to the last caller's Envoy: the control plane reads it 50 ms after it was written, pushes 100 ms later, and an
 * Envoy takes some milliseconds. A sidecar that ends answers for a second longer than this.
 */
const SETTLE_MS = 1000;

/**
 * Makes the running mesh as planned: what is new starts, what has changed restarts one after the other, what is gone ends; in this
 * order, so that no client misses a service. Others call a workload only while it is ready. Resolves with what is not ready at the end;
 * from the first changed workload that does not come back on, the others are left as they are.
 */
export async function changeMesh(options: ChangeMeshOptions, after: MeshPlan): Promise<readonly string[]> {
  const { running, life, relays, doors } = options;
  const before = running.plan;
  const { added, changed, removed, unchanged } = changesOf(options, after);
  for (const { name } of added) running.aside.add(name);
  publish(options, plansTogether(before, after));
  await relays.follow(running.plan);
  for (const workload of unchanged) life.renew(after, workload);
  const late = await addAll(options, added);
  await doors.follow(running.plan);
  for (const each of inStartOrder(changed)) {
    const objection = await replace(options, each);
    if (objection !== undefined) return [...late, `${objection}; the workloads behind it were not changed`];
  }
  const left = await removeAll(options, removed);
  publish(options, after);
  await relays.follow(after);
  await doors.follow(after);
  return [...late, ...left];
}

export function changesOf(
  { running, parts }: Pick<ChangeMeshOptions, "running" | "parts">,
  after: MeshPlan,
): MeshChanges {
  const isThere = (name: string) => parts.status(name).phase !== "stopped";
  return meshChanges(
    running.plan,
    after,
    ({ name, kind }) => isThere(`${name}/agent`) && (kind === "gateway" || isThere(`${name}/app`)),
  );
}

async function addAll(options: ChangeMeshOptions, added: readonly Workload[]): Promise<readonly string[]> {
  const { running, life, report } = options;
  const { plan } = running;
  try {
    await life.prepare(plan, added);
    await Promise.all([life.capture(added), life.identify(plan, added)]);
  } catch (thrown) {
    await Promise.all(added.map((workload) => life.clear(workload)));
    for (const { name } of added) running.aside.delete(name);
    publish(options, { ...plan, workloads: plan.workloads.filter((workload) => !added.includes(workload)) });
    throw thrown;
  }
  const objections = await Promise.all(
    added.map(async (workload) => {
      await life.start(plan, workload);
      const objection = await whenReady(options, workload);
      if (objection === undefined) report("info", `${workload.name} is started`);
      return objection ?? [];
    }),
  );
  return objections.flat();
}

async function replace(options: ChangeMeshOptions, change: ChangedWorkload): Promise<string | undefined> {
  const { running, life, report } = options;
  const { before, after, isAlone } = change;
  if (!isAlone) await standAside(options, [before]);
  await life.end(before);
  running.aside.add(after.name);
  const workloads = running.plan.workloads.map((each) => (each.name === after.name ? after : each));
  publish(options, { ...running.plan, workloads });
  await life.identify(running.plan, [after]);
  await life.start(running.plan, after);
  const objection = await whenReady(options, after);
  if (objection === undefined) report("info", `${after.name} is restarted`);
  return objection;
}

async function removeAll(options: ChangeMeshOptions, removed: readonly Workload[]): Promise<readonly string[]> {
  const { running, life, report } = options;
  await standAside(options, removed);
  const problems = await Promise.all(
    removed.map(async (workload) => {
      await life.end(workload);
      const left = await life.clear(workload);
      running.aside.delete(workload.name);
      report("info", `${workload.name} is ended`);
      return left;
    }),
  );
  return problems.flat();
}

/** From now on others call them; one that is not ready in time is called as soon as it is. */
async function whenReady(options: ChangeMeshOptions, workload: Workload): Promise<string | undefined> {
  const { parts, signal } = options;
  const isHopeless = () => parts.status(`${workload.name}/app`).phase === "crash-loop";
  const ask = () => parts.workloadObstacle(workload);
  const [objection] = await untilReady([ask], { limitMs: READY_MS, signal, isHopeless });
  if (objection === undefined) admit(options, workload);
  return objection;
}

/** Between two changes: who was not ready in time and is now, and whose health check fails. */
export async function admitReady(options: Admission): Promise<void> {
  const { running, parts, health } = options;
  const sick = running.plan.workloads.filter(
    (workload) => !running.aside.has(workload.name) && isSick(health(workload)),
  );
  for (const { name } of sick) running.aside.add(name);
  if (sick.length > 0) publish(options, running.plan);
  for (const workload of running.plan.workloads.filter(({ name }) => running.aside.has(name))) {
    if ((await parts.workloadObstacle(workload)) === undefined) admit(options, workload);
  }
}

type Admission = Pick<ChangeMeshOptions, "running" | "parts" | "config" | "state" | "health">;

function isSick(health: Health | undefined): boolean {
  return health !== undefined && health.state !== "healthy";
}

function admit(options: Admission, { name }: Workload): void {
  options.running.aside.delete(name);
  publish(options, options.running.plan);
}

/** They get no more calls when it resolves. */
async function standAside(options: ChangeMeshOptions, workloads: readonly Workload[]): Promise<void> {
  const { running, signal } = options;
  const called = workloads.filter(({ app }) => app !== undefined);
  if (called.length === 0) return;
  for (const { name } of called) running.aside.add(name);
  publish(options, running.plan);
  await wait(SETTLE_MS, signal);
}

function publish({ running, config, state }: Omit<Admission, "parts" | "health">, plan: MeshPlan): void {
  running.plan = plan;
  state.update({ plan });
  config.writeGenerated(buildIstioObjects(plan, running.file.mtls, running.aside));
}
