import { readFile, stat } from "node:fs/promises";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { CaptureError } from "./capture-error.ts";
import { parseKernelState } from "./core/kernel-state.ts";
import type { Family } from "./core/rule.ts";
import { type PlanInput, planTables, type TablePlan, transactionText } from "./core/transaction.ts";
import { type Backend, save } from "./detect-backend.ts";
import type { NetworkContext } from "./network-context.ts";
import { failureText, type ProgramResult } from "./run-program.ts";

/** After this long a waiting legacy program is reported; before, the wait is too short to notice. */
const LOCK_NOTICE_MS = 500;
const DEFAULT_LOCK = "/run/xtables.lock";

export interface RestoreOptions {
  readonly backend: Backend;
  readonly context: NetworkContext;
  readonly log: Logger;
  /** The lock that legacy programs take; for the message about who holds it. */
  readonly lockFile?: string | undefined;
}

/** One family's change: what to write, and the comparison to repeat when writing fails. */
export interface FamilyChange {
  readonly input: PlanInput;
  readonly plans: readonly TablePlan[];
}

/**
 * Applies all families or none: the kernel takes table by table, so after a failure the tables that were already taken are put back as they
 * were. The returned function undoes everything, for failures in later steps of the caller.
 */
export async function applyChanges(
  changes: readonly FamilyChange[],
  options: RestoreOptions,
): Promise<() => Promise<void>> {
  const done: FamilyChange[] = [];
  const undo = async () => {
    const failures: string[] = [];
    // One that cannot go back is no reason to leave the others.
    for (const change of done.splice(0).reverse()) failures.push(...(await putBack(change, options)));
    if (failures.length === 0) return;
    throw new CaptureError("rollback-failed", `rules could not be put back: ${failures.join("; ")}`);
  };
  for (const change of changes) {
    const text = transactionText(change.plans, "forward");
    if (text === "") continue;
    const result = await restore(change.input.family, text, options);
    if (result.code === 0) {
      done.push(change);
      continue;
    }
    const failure = failureText(
      { program: restoreProgram(change.input.family, options.backend), args: ["--noflush"] },
      result,
    );
    const taken = await takenTables(change, text, result.stderr, options);
    if (taken.length === change.plans.length) {
      options.log.info("another process put the same rules in place meanwhile");
      done.push(change);
      continue;
    }
    if (taken.length > 0) done.push({ ...change, plans: taken });
    const tables = done.flatMap((each) => each.plans.map((plan) => `${each.input.family} ${plan.table}`));
    await undoBecause(failure, undo);
    const note = tables.length === 0 ? "nothing was changed" : `rolled back: ${tables.join(", ")}`;
    throw new CaptureError("restore-failed", `${failure} (${note})`);
  }
  return undo;
}

/** A rollback that fails too hides nothing: the first failure is where the search begins. */
export async function undoBecause(cause: string, undo: () => Promise<void>): Promise<void> {
  try {
    await undo();
  } catch (thrown) {
    throw new CaptureError("rollback-failed", `${cause}; and ${errorMessage(thrown)}`, { cause: thrown });
  }
}

/** Why the rules could not be restored; nothing when they were. */
async function putBack(change: FamilyChange, options: RestoreOptions): Promise<readonly string[]> {
  const { family } = change.input;
  const result = await restore(family, transactionText(change.plans, "back"), options);
  if (result.code === 0) return [];
  return [failureText({ program: restoreProgram(family, options.backend), args: ["--noflush"] }, result)];
}

/** Tables before the failing line were committed; without a line number, those that now look as planned. */
async function takenTables(change: FamilyChange, text: string, stderr: string, options: RestoreOptions) {
  const line = Number(/line:? (\d+)/.exec(stderr)?.[1] ?? "0");
  const { stdout } = await save(options.backend.programs[change.input.family] ?? "", options.context);
  const now = planTables({ ...change.input, blind: false, state: parseKernelState(stdout) });
  const equal = new Set(now.filter((plan) => plan.status === "equal").map((plan) => plan.table));
  const allEqual = change.input.rules.length > 0 && change.plans.every((plan) => equal.has(plan.table));
  if (allEqual && change.plans.every((plan) => plan.status !== "equal")) return change.plans;
  const committed = line > 0 ? committedBefore(text, line) : undefined;
  return change.plans.filter(
    (plan) => committed?.has(plan.table) ?? (plan.status !== "equal" && equal.has(plan.table)),
  );
}

function committedBefore(text: string, line: number): ReadonlySet<string> {
  const tables = new Set<string>();
  let table = "";
  for (const written of text.split("\n").slice(0, line - 1)) {
    if (written.startsWith("* ")) table = written.slice(2);
    if (written === "COMMIT") tables.add(table);
  }
  return tables;
}

function restoreProgram(family: Family, backend: Backend): string {
  return `${backend.programs[family]}-restore`;
}

async function restore(family: Family, text: string, options: RestoreOptions): Promise<ProgramResult> {
  const { backend, context, log } = options;
  const program = restoreProgram(family, backend);
  if (log.enabled("debug")) {
    log.debug(`Running iptables restore with: ${program} and the following input:\n${text.trim()}`);
  }
  const watch = backend.wait.length > 0 ? watchLock(options) : undefined;
  try {
    return await context.run({ program, args: ["--noflush", ...backend.wait], input: text });
  } finally {
    clearTimeout(watch);
  }
}

/** Legacy programs wait in silence; somebody who looks at a hanging pod should see why. */
function watchLock({ context, log, lockFile }: RestoreOptions): NodeJS.Timeout {
  const path = context.lockFile ?? lockFile ?? DEFAULT_LOCK;
  return setTimeout(async () => {
    const holder = await lockHolder(path);
    const who = holder === undefined ? "" : ` (process ${holder})`;
    log.warn(`waiting up to 30s for the xtables lock ${path}, which another process holds${who}`);
  }, LOCK_NOTICE_MS);
}

async function lockHolder(path: string): Promise<string | undefined> {
  try {
    const { ino } = await stat(path);
    const locks = await readFile("/proc/locks", "utf8");
    const line = locks.split("\n").find((text) => text.includes(`:${ino} `) && !text.includes("->"));
    return line?.trim().split(/\s+/)[4];
  } catch {
    return undefined;
  }
}
