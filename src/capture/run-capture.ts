import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { applyIptables } from "./apply-iptables.ts";
import { applyNftables } from "./apply-nftables.ts";
import type { ApplyOptions, ApplyOutcome } from "./apply-options.ts";
import { CaptureError } from "./capture-error.ts";
import { takeCaptureLock } from "./capture-lock.ts";
import { captureBanner } from "./core/banner.ts";
import { type DryRun, dryRun, RULES_FILE } from "./core/dry-run.ts";
import { GENERATION_SHAPES } from "./core/generations.ts";
import type { CaptureOptions, CaptureSettings } from "./core/settings.ts";
import { findInstalledRules } from "./installed-rules.ts";
import { MACHINE_FILES, ownerNames } from "./machine.ts";
import { type NetworkContext, openNetworkContext } from "./network-context.ts";
import { hasNativeTables } from "./nft-program.ts";
import { undoBecause } from "./restore.ts";
import {
  configureRoutes,
  needsPolicyRoute,
  removePassthroughAddress,
  removePolicyRoutes,
  removeStaleRoutes,
} from "./routes.ts";
import { type RunProgram, runProgram } from "./run-program.ts";

export interface CaptureRun {
  readonly settings: CaptureSettings;
  readonly options: CaptureOptions;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
  print(text: string): void;
  /** Whether this network has native tables of ours, from `hasNativeTables`; looked for when absent, which takes as long as all the rest. */
  readonly hasNative?: Promise<boolean>;
  /** Stands in for starting programs, so that failures can be made. */
  readonly run?: RunProgram;
}

/** Programs, cleans or only shows the rules. Rejects with a CaptureError when nothing could be done; then nothing was changed. */
export async function runCapture(given: CaptureRun): Promise<void> {
  const capture = showingRules(given);
  const { settings, options, log } = capture;
  if (options.dryRun) {
    await showDryRun(capture);
    return;
  }
  if (options.cleanupOnly) {
    showBanner(capture);
    await cleanCapture(capture);
    return;
  }
  if (settings.nativeNftables) log.info("native nftables enabled, using nft rules for traffic redirection.");
  showBanner(capture);
  await using context = await openContext(capture);
  await using lock = await takeCaptureLock({ procNet: context.procNet, log });
  const apply = await applyOptions(
    lock.hasWaited ? { ...capture, hasNative: hasNativeTables(context) } : capture,
    context,
  );
  const outcome = await (settings.nativeNftables ? applyNftables(apply) : applyIptables(apply));
  const routes = [
    ...(await routesOrUndo(settings, context, outcome)),
    ...(options.reconcile ? (await removeStaleRoutes(settings, outcome.marks, context)).changed : []),
  ];
  for (const command of routes) log.info(`Ran ${command}`);
  if (routes.some((command) => command.includes("addr add"))) log.info("Added ::6 address on the loopback iface");
  if (!outcome.changed && routes.length === 0)
    log.info("All rules and routes are already in place, nothing was changed");
}

/**
 * Removes rules of any generation and backend, addresses and routes, by looking at what is there. One that cannot be removed is no reason to
 * leave the others; all failures are reported together. Resolves to whether there was anything.
 */
export async function cleanCapture(capture: CaptureRun): Promise<boolean> {
  const { settings, log } = capture;
  await using context = await openContext(capture);
  await using _lock = await takeCaptureLock({ procNet: context.procNet, log });
  log.info("Performing cleanup of existing iptables");
  const installed = await findInstalledRules(await applyOptions(capture, context));
  const failures: string[] = [];
  const marks = new Set([Number(settings.tproxyMark), ...installed.flatMap((rules) => [...rules.marks])]);
  for (const rules of installed) {
    try {
      await rules.remove();
    } catch (thrown) {
      failures.push(`${rules.name}: ${errorMessage(thrown)}`);
      // Rules without their routes would swallow traffic.
      for (const mark of rules.marks) marks.delete(mark);
    }
  }
  const reports = [
    ...(failures.length > 0 ? [] : [await removePassthroughAddress(context)]),
    await removePolicyRoutes(context, marks),
  ];
  const removed = reports.flatMap(({ changed }) => changed);
  for (const command of removed) log.info(`Ran ${command}`);
  failures.push(...reports.flatMap(({ failed }) => failed));
  if (failures.length > 0) {
    const text = `not everything of traffic capture could be removed: ${failures.join("; ")}`;
    throw new CaptureError("clean-failed", text);
  }
  const found = installed.length > 0 || removed.length > 0;
  log.info(
    found ? "Removed all rules, addresses and routes of traffic capture" : "Nothing to remove, nothing was changed",
  );
  return found;
}

/** Up to 1.7 the commands, the rules and the state they led to are shown without being asked for. */
function showingRules(capture: CaptureRun): CaptureRun {
  const { settings, options, log } = capture;
  if (options.dryRun || GENERATION_SHAPES[settings.generation].shows !== "files") return capture;
  return { ...capture, log: { ...log, enabled: () => true, debug: (text, fields) => log.info(text, fields) } };
}

function openContext({ options, log, run }: CaptureRun): Promise<NetworkContext> {
  const { networkNamespace, cniMode } = options;
  return openNetworkContext({ networkNamespace, cniMode, log, run: loggedRun(run ?? runProgram, log) });
}

async function applyOptions(capture: CaptureRun, context: NetworkContext): Promise<ApplyOptions> {
  const { settings, options, log, env } = capture;
  const names = await ownerNames(settings, MACHINE_FILES, context.run);
  const hasNative = () => capture.hasNative ?? hasNativeTables(context);
  return { settings, options, context, names, log, lockFile: env.XTABLES_LOCKFILE, hasNative };
}

/** Rules without their routes would swallow traffic: a failure here takes the rules back as well. */
async function routesOrUndo(
  settings: CaptureSettings,
  context: NetworkContext,
  outcome: ApplyOutcome,
): Promise<readonly string[]> {
  if (settings.interceptionMode === "NONE" || (!settings.ipv6 && !needsPolicyRoute(settings))) return [];
  try {
    return (await configureRoutes(settings, context)).changed;
  } catch (thrown) {
    await undoBecause(errorMessage(thrown), () => outcome.undo());
    throw thrown;
  }
}

function showBanner({ settings, options, env, log, print }: CaptureRun): void {
  const banner = captureBanner(settings, options, env);
  for (const entry of banner.log) log.info(entry);
  if (banner.stdout.length > 0) print(`${banner.stdout.join("\n")}\n`);
}

/** Nothing is run or read; the record also goes to the file that was asked for, whose old content is gone. */
async function showDryRun(capture: CaptureRun): Promise<void> {
  const { settings, options, log } = capture;
  const backend = settings.nativeNftables ? "nftables" : "iptables";
  log.info(`running ${backend} in dry-run mode, no rule changes will be made`);
  showBanner(capture);
  const result = dryRun(settings, options);
  const { shows } = GENERATION_SHAPES[settings.generation];
  if (shows === "files") await showRulesFiles(capture, result);
  else if (settings.nativeNftables) log.info(`nftables rules programmed:\n${result.record.join("\n")}`);
  else if (shows === "commands") for (const line of result.record) log.info(line);
  else {
    log.info("Clean-state detected, new iptables are needed");
    log.info(options.cleanupOnly ? "Performing cleanup of existing iptables" : "Applying iptables chains and rules");
    if (options.cleanupOnly) for (const line of result.record) log.info(line);
    for (const { program, text } of result.inputs) {
      log.info(`Running iptables restore with: ${program} and the following input:\n${text.trim()}`);
    }
  }
  await writeRecord(result.file, options.dryRunFile, log);
  log.info("skipping configuring routes due to dry run mode");
}

/** 1.7 wrote its rules to files even when it then ran nothing, and printed them. */
async function showRulesFiles({ options, print }: CaptureRun, { record, inputs }: DryRun): Promise<void> {
  const stamp = `${Date.now()}000000.txt${Math.floor(Math.random() * 1e9)}`;
  const paths = ["iptables-rules", "ip6tables-rules"].map((name) => join(tmpdir(), `${name}-${stamp}`));
  for (const [index, { text }] of (options.cleanupOnly || !options.restoreFormat ? [] : inputs).entries()) {
    const path = paths[index] ?? "";
    await writeFile(path, text, { mode: 0o600, flag: "wx" });
    await rm(path);
    print(`Writing following contents to rules file:  ${path}\n${text}\n`);
  }
  for (const line of record) print(`${line.replace(RULES_FILE, paths[line.startsWith("ip6") ? 1 : 0] ?? "")}\n`);
}

export async function writeRecord(record: readonly string[], path: string, log: Logger): Promise<void> {
  if (path === "") return;
  try {
    await writeFile(path, record.map((line) => `${line}\n`).join(""), { mode: 0o644 });
  } catch (thrown) {
    log.warn(`cannot write DRY_RUN_FILE_PATH ${path}: ${errorMessage(thrown)}`);
  }
}

function loggedRun(run: RunProgram, log: Logger): RunProgram {
  if (!log.enabled("debug")) return run;
  return async (call) => {
    log.debug(`Running command: ${call.program} ${call.args.join(" ")}`);
    const result = await run(call);
    if (result.stderr !== "") log.debug(`Command error output: ${result.stderr.trim()}`);
    return result;
  };
}
