import type { ApplyOptions, ApplyOutcome } from "./apply-options.ts";
import { buildRules } from "./core/build-rules.ts";
import { GENERATION_SHAPES } from "./core/generations.ts";
import { toIptables } from "./core/iptables-args.ts";
import { restoreTables, restoreText } from "./core/iptables-text.ts";
import type { KernelState } from "./core/kernel-state.ts";
import { type CaptureSettings, isTproxy } from "./core/settings.ts";
import { planTables } from "./core/transaction.ts";
import { type Backend, hasLegacyTables } from "./detect-backend.ts";
import { applyChanges } from "./restore.ts";

const NOTHING: KernelState = new Map();
const PROGRAM = "iptables-nft";

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
