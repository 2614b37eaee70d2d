import type { ApplyOptions, ApplyOutcome } from "./apply-options.ts";
import { CaptureError } from "./capture-error.ts";
import { buildRules } from "./core/build-rules.ts";
import { usedMarks } from "./core/discover-rules.ts";
import { GENERATION_SHAPES } from "./core/generations.ts";
import { toIptables } from "./core/iptables-args.ts";
import { restoreTables, restoreText } from "./core/iptables-text.ts";
import { hasOwnChains, type KernelState } from "./core/kernel-state.ts";
import type { Family } from "./core/rule.ts";
import { type CaptureSettings, isTproxy } from "./core/settings.ts";
import { type PlanInput, planTables, type TablePlan } from "./core/transaction.ts";
import { type Backend, detectBackend, hasLegacyTables, logState } from "./detect-backend.ts";
import { findOtherRules, refuseOthers, replaceOthers } from "./installed-rules.ts";
import { applyChanges, type FamilyChange } from "./restore.ts";

const NOTHING: KernelState = new Map();
const PROGRAM = "iptables-nft";

/** Brings both IP versions to the plan, or changes nothing. Tables that are right stay untouched; missing ones are completed. */
export async function applyIptables(given: ApplyOptions): Promise<ApplyOutcome> {
  const { settings, options, context, log } = given;
  const swift = log.enabled("debug") ? undefined : await applyAtOnce(given);
  if (swift !== undefined) return swift;
  const backend = await detectBackend({ forceBinary: options.forceBinary, ipv6: settings.ipv6, context, log });
  const restoreOptions = { backend, context, log, lockFile: given.lockFile };
  const families: readonly Family[] = backend.programs.v6 === undefined ? ["v4"] : ["v4", "v6"];
  const changes = families.map((family) => planFamily(family, backend, given));
  const others = await findOtherRules(given, backend.kind);
  reportState(changes, given);
  const wanted = changes.map((change) => ({
    ...change,
    plans: change.plans.filter((plan) => isNeeded(plan, change, given)),
  }));
  const isReady = wanted.every((change) => change.plans.length === 0);
  refuseOthers(others, given, isReady);
  const marks = new Set(
    families.flatMap((family) => [...usedMarks(backend.states[family].get("mangle") ?? new Map())]),
  );
  if (!isReady) log.info("Applying iptables chains and rules");
  try {
    const undo = isReady ? async () => undefined : await applyChanges(wanted, restoreOptions);
    return await replaceOthers(others, { changed: !isReady, marks, undo }, given);
  } finally {
    await dumpState(backend, given);
  }
}

function planFamily(family: Family, backend: Backend, given: ApplyOptions): FamilyChange {
  const isOff = family === "v6" && !given.settings.ipv6;
  const input = planInput(family, backend, given, isOff ? [] : buildRules(given.settings));
  const blind = given.options.forceApply && !given.options.reconcile;
  const plans = planTables(input);
  if (!blind || isOff || plans.some((plan) => plan.status === "drifted")) return { input, plans };
  // Forced: the rules are written over any state, and the kernel refuses what exists already.
  return {
    input: { ...input, blind },
    plans: planTables({ ...input, blind }).map((plan) => ({ ...plan, status: statusOf(plans, plan) })),
  };
}

function statusOf(plans: readonly TablePlan[], { table, status }: TablePlan): TablePlan["status"] {
  return plans.find((plan) => plan.table === table)?.status ?? status;
}

function planInput(family: Family, backend: Backend, given: ApplyOptions, rules: PlanInput["rules"]): PlanInput {
  const shape = GENERATION_SHAPES[given.settings.generation];
  return { rules, family, state: backend.states[family], shape, names: given.names };
}

/** Says what was found and refuses to guess: rules that differ are replaced only on request. */
function reportState(changes: readonly FamilyChange[], { settings, options, log }: ApplyOptions): void {
  const drifted = changes.flatMap(({ input, plans }) =>
    plans.filter((plan) => plan.status === "drifted").map((plan) => ({ family: input.family, table: plan.table })),
  );
  const isResidue = changes.some(({ input }) => hasOwnChains(input.state));
  const stale = drifted.filter(({ family }) => family === "v6" && !settings.ipv6);
  if (stale.length > 0 && !options.reconcile) {
    log.warn(
      "IPv6 is off, but rules of an earlier run are still there; use --reconcile or --cleanup-only to remove them",
    );
  }
  const serious = drifted.filter((entry) => !stale.includes(entry));
  if (!isResidue) log.info("Clean-state detected, new iptables are needed");
  else if (drifted.length > 0) log.info("Found residues of old iptables rules/chains, reconciliation is recommended");
  else log.info("Found compatible residues of old iptables rules/chains, reconciliation not needed");
  if (serious.length === 0 || options.reconcile) return;
  const tables = serious.map(({ family, table }) => `${family === "v4" ? "IPv4" : "IPv6"} ${table}`).join(", ");
  throw new CaptureError(
    "drifted",
    `rules of an earlier run differ from the wanted ones in ${tables}; nothing was changed. ` +
      "Use --reconcile to replace them, or --cleanup-only to remove them first",
  );
}

function isNeeded(plan: TablePlan, { input }: FamilyChange, { settings, options }: ApplyOptions): boolean {
  if (input.family === "v6" && !settings.ipv6 && !options.reconcile) return false;
  return plan.status !== "equal" || options.forceApply;
}

async function dumpState(backend: Backend, { settings, context, log }: ApplyOptions): Promise<void> {
  for (const family of settings.ipv6 ? (["v4", "v6"] as const) : (["v4"] as const)) {
    await logState(backend.programs[family], family, { context, log });
  }
}

/**
 * The usual case without a look first: when all rules are in one table, the kernel takes them as one step and refuses that step where our
 * chains exist, so writing is its own check, without a moment between the two. Undefined: nothing was changed, and the careful way has to
 * find out more. `bench/capture.bench.ts` shows what this saves.
 */
export async function applyAtOnce(given: ApplyOptions): Promise<ApplyOutcome | undefined> {
  const { settings, options, context, log } = given;
  if (options.reconcile || options.forceApply || options.forceBinary === "legacy" || !isOneTable(settings))
    return undefined;
  // Rules of ours may be in force elsewhere, whichever program is asked for.
  if (hasLegacyTables(context) || (await given.hasNative())) return undefined;
  const shape = GENERATION_SHAPES[settings.generation];
  // Before the program starts: it waits for its input, and is woken up once instead of twice.
  const input = restoreText(restoreTables(toIptables(buildRules(settings), "v4"), shape));
  const { code } = await context.run({ program: `${PROGRAM}-restore`, args: ["--noflush"], input });
  if (code !== 0) return undefined;
  log.info("Clean-state detected, new iptables are needed");
  log.info("Applied iptables chains and rules");
  return {
    changed: true,
    marks: new Set(),
    undo: async () => {
      const input = { rules: buildRules(settings), family: "v4", state: NOTHING, shape, names: given.names } as const;
      const plans = planTables(input).map((plan) => ({ ...plan, forward: plan.back, back: plan.forward }));
      const none = { v4: NOTHING, v6: NOTHING };
      const backend: Backend = { kind: "nft", programs: { v4: PROGRAM, v6: undefined }, states: none, wait: [] };
      await applyChanges([{ input, plans }], { backend, context, log });
    },
  };
}

/** IPv4 redirection alone lives in nat; everything else needs a second table or a second program. */
function isOneTable(settings: CaptureSettings): boolean {
  const { ipv6, redirectDns, dropInvalid, interceptionMode } = settings;
  return !ipv6 && !redirectDns && !dropInvalid && !isTproxy(settings) && interceptionMode !== "NONE";
}
