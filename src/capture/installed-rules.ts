import { errorCode, errorMessage } from "../base/coded-error.ts";
import type { ApplyOptions, ApplyOutcome } from "./apply-options.ts";
import { CaptureError } from "./capture-error.ts";
import { buildRules } from "./core/build-rules.ts";
import { usedMarks } from "./core/discover-rules.ts";
import { GENERATION_SHAPES } from "./core/generations.ts";
import { hasOwnChains } from "./core/kernel-state.ts";
import { nftRemoval } from "./core/nft-transaction.ts";
import type { Family } from "./core/rule.ts";
import { planTables } from "./core/transaction.ts";
import { type Backend, type BackendKind, findBackends, logState, otherBackends } from "./detect-backend.ts";
import type { NetworkContext } from "./network-context.ts";
import { listingText, listTables, runNft } from "./nft-program.ts";
import { applyChanges, undoBecause } from "./restore.ts";

/** Capture rules in force in one backend, of whichever run. */
export interface InstalledRules {
  /** `ip6tables-legacy`, `native nftables`. */
  readonly name: string;
  /** That its rules use; policy routes go by them. */
  readonly marks: ReadonlySet<number>;
  /** All of them or none. Resolves to what puts them back. */
  remove(): Promise<() => Promise<void>>;
}

/** Everything that cleaning has to look at. A machine with nothing but nft has no iptables rules to clean, and the other way round. */
export async function findInstalledRules(given: ApplyOptions): Promise<readonly InstalledRules[]> {
  const native = await nativeRules(given.context).catch(() => undefined);
  const { options, context, log } = given;
  const backends = await findBackends({ forceBinary: options.forceBinary, ipv6: false, context, log }).catch(
    (thrown: unknown) => {
      if (native === undefined || errorCode(thrown) !== "no-backend") throw thrown;
      return [];
    },
  );
  for (const { programs, v6Failure } of backends) {
    if (programs.v6 === undefined) log.warn(`ip6tables cannot be used, IPv6 rules are not looked for: ${v6Failure}`);
  }
  return [...(native ?? []), ...backends.flatMap((backend) => iptablesRules(backend, given))];
}

/**
 * Rules that an earlier run wrote with another program than this one: both would act on the same traffic. Only what cannot be a stranger's
 * counts, tables and chains with our names.
 */
export async function findOtherRules(
  given: ApplyOptions,
  own: BackendKind | "native",
): Promise<readonly InstalledRules[]> {
  const { context } = given;
  const [native, backends] = await Promise.all([
    own === "native" ? [] : nativeRules(context).catch(() => []),
    otherBackends(context, own),
  ]);
  return [...native, ...backends.flatMap((backend) => iptablesRules(backend, given, hasOwnChains))];
}

/** Refuses to write beside rules of ours elsewhere, unless they are to be replaced. Where nothing has to be written it only warns. */
export function refuseOthers(
  others: readonly InstalledRules[],
  { options, log }: ApplyOptions,
  isInPlace: boolean,
): void {
  if (others.length === 0 || options.reconcile) return;
  const text = `rules of an earlier run are in force in ${others.map(({ name }) => name).join(", ")}`;
  const way = "Use --reconcile to replace them, or --cleanup-only to remove them first";
  if (isInPlace) log.warn(`${text} as well: both act on the same traffic. Use --reconcile to remove them`);
  else throw new CaptureError("drifted", `${text}, and would act beside the new ones; nothing was changed. ${way}`);
}

/** Once the new rules are there the old ones elsewhere go; where one cannot, everything is as before. */
export async function replaceOthers(
  others: readonly InstalledRules[],
  outcome: ApplyOutcome,
  { options, log }: ApplyOptions,
): Promise<ApplyOutcome> {
  if (others.length === 0 || !options.reconcile) return outcome;
  const steps = [() => outcome.undo()];
  const undo = async () => {
    for (const step of steps.splice(0).reverse()) await step();
  };
  for (const { name, remove } of others) {
    try {
      steps.push(await remove());
      log.info(`Removed the rules of an earlier run from ${name}`);
    } catch (thrown) {
      const failure = `rules of an earlier run in ${name} cannot be replaced: ${errorMessage(thrown)}`;
      await undoBecause(failure, undo);
      throw new CaptureError("restore-failed", failure, { cause: thrown });
    }
  }
  const marks = new Set([...outcome.marks, ...others.flatMap((rules) => [...rules.marks])]);
  return { changed: true, marks, undo };
}

function iptablesRules(
  backend: Backend,
  given: ApplyOptions,
  isEvidence: typeof hasOwnChains = () => true,
): readonly InstalledRules[] {
  const { settings, context, names, log, lockFile } = given;
  const known = buildRules({ ...settings, ipv6: true });
  return (["v4", "v6"] as const).flatMap((family: Family) => {
    const state = backend.states[family];
    const shape = GENERATION_SHAPES[settings.generation];
    const input = { rules: [], family, state, shape, names, known };
    const plans = planTables(input);
    if (plans.length === 0 || !isEvidence(state)) return [];
    const program = backend.programs[family] ?? "";
    return {
      name: program,
      marks: usedMarks(state.get("mangle") ?? new Map()),
      async remove() {
        for (const { table, forward } of plans)
          log.info(`Removing from ${program} table ${table}: ${forward.length} lines`);
        const undo = await applyChanges([{ input, plans }], { backend, context, log, lockFile });
        await logState(program, family, { context, log });
        return undo;
      },
    };
  });
}

/** Rejects where there is no nft that could look. */
async function nativeRules(context: NetworkContext): Promise<readonly InstalledRules[]> {
  const tables = await listTables(context);
  if (tables.size === 0) return [];
  return [
    {
      name: "native nftables",
      marks: new Set([...tables.values()].flatMap((table) => [...table.marks])),
      async remove() {
        const before = await listingText([...tables.keys()], context);
        await runNft(nftRemoval([...tables.keys()]).join("\n"), context);
        return () => runNft(before, context, "the old rules are gone");
      },
    },
  ];
}
