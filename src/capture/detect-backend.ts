import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "../base/logger.ts";
import { CaptureError } from "./capture-error.ts";
import { hasOwnChains, hasRules, type KernelState, parseKernelState } from "./core/kernel-state.ts";
import type { Family } from "./core/rule.ts";
import type { NetworkContext } from "./network-context.ts";
import { failureText, type ProgramResult } from "./run-program.ts";

export type BackendKind = "nft" | "legacy";

/** One usable iptables: its programs and the state it had when it was found. */
export interface Backend {
  readonly kind: BackendKind;
  /** Base name without `-save` or `-restore`; IPv6 may be missing. */
  readonly programs: Readonly<Record<Family, string | undefined>>;
  readonly states: Readonly<Record<Family, KernelState>>;
  /** Why there is no program for IPv6. */
  readonly v6Failure?: string;
  /** Arguments that make a legacy program wait for the lock; the nft variant has none. */
  readonly wait: readonly string[];
}

export interface DetectOptions {
  readonly forceBinary: string;
  readonly ipv6: boolean;
  readonly context: NetworkContext;
  readonly log: Logger;
}

const EMPTY: KernelState = new Map();

/**
 * Finds the iptables to use without touching anything: a probe rule would create tables and mislead the next run. The variant that already
 * holds our chains is used; else legacy where it has rules, else nft, else the program named `iptables`.
 */
export async function detectBackend(options: DetectOptions): Promise<Backend> {
  const { forceBinary, ipv6, log } = options;
  const backend = forceBinary === "" ? await chooseBackend(options) : await forcedBackend(options, forceBinary);
  if (backend.programs.v6 !== undefined) return backend;
  const text = backend.v6Failure ?? "no usable ip6tables";
  if (ipv6)
    throw new CaptureError("no-backend", `IPv6 traffic is to be captured, but ip6tables cannot be used: ${text}`);
  log.warn(`ip6tables cannot be used, IPv6 rules are neither checked nor written: ${text}`);
  return backend;
}

/** Every variant that has rules or chains; what cleaning has to look at. */
export async function findBackends({ forceBinary, context, log }: DetectOptions): Promise<readonly Backend[]> {
  if (forceBinary !== "") return [await forcedBackend({ forceBinary, context, log, ipv6: false }, forceBinary)];
  const [nft, legacy] = await Promise.all([
    probe("iptables-nft", "nft", context),
    hasLegacyTables(context) ? probe("iptables-legacy", "legacy", context) : undefined,
  ]);
  const found = [nft, legacy].filter((outcome) => outcome !== undefined && isUsable(outcome));
  if (found.length > 0) return found.flatMap((outcome) => (outcome === undefined ? [] : (outcome.backend ?? [])));
  return [required(await probePlain(context))];
}

/** Variants that hold rules and are not the one that is used; `native` uses none. */
export async function otherBackends(context: NetworkContext, own: BackendKind | "native"): Promise<readonly Backend[]> {
  const outcomes = await Promise.all([
    own === "nft" ? undefined : probe("iptables-nft", "nft", context),
    own === "legacy" || !hasLegacyTables(context) ? undefined : probe("iptables-legacy", "legacy", context),
  ]);
  const found = outcomes.flatMap((outcome) => outcome?.backend ?? []);
  // Small images have the plain name alone; a run that uses iptables has found that one itself.
  return found.length > 0 || own !== "native" ? found : [(await probePlain(context)).backend ?? []].flat();
}

async function chooseBackend({ context }: DetectOptions): Promise<Backend> {
  const [nft, legacy] = await Promise.all([
    probe("iptables-nft", "nft", context),
    hasLegacyTables(context) ? probe("iptables-legacy", "legacy", context) : undefined,
  ]);
  const candidates = [nft.backend, legacy?.backend].filter((backend) => backend !== undefined);
  const owned = candidates.find((backend) => Object.values(backend.states).some(hasOwnChains));
  if (owned !== undefined) return owned;
  const busy = legacy?.backend;
  if (busy !== undefined && Object.values(busy.states).some(hasRules)) return busy;
  if (nft.backend !== undefined) return nft.backend;
  const last = await probePlain(context);
  if (last.backend !== undefined) return last.backend;
  // A program that is there but refuses says more than one that is not.
  return required(nft.missing ? last : nft);
}

async function forcedBackend({ context, log }: DetectOptions, kind: string): Promise<Backend> {
  const outcome = await probe(`iptables-${kind}`, kind === "legacy" ? "legacy" : "nft", context);
  if (!isUsable(outcome)) log.error(`did not find iptables binary, error was ${outcome.failure}`);
  return required(outcome);
}

interface Probe {
  readonly backend?: Backend;
  readonly failure?: string;
  readonly missing?: boolean;
}

function isUsable(outcome: Probe): boolean {
  return outcome.backend !== undefined;
}

function required(outcome: Probe): Backend {
  if (outcome.backend !== undefined) return outcome.backend;
  throw new CaptureError("no-backend", outcome.failure ?? "no usable iptables");
}

async function probe(program: string, kind: BackendKind, context: NetworkContext): Promise<Probe> {
  const ip6 = program.replace("iptables", "ip6tables");
  const [v4, v6, version] = await Promise.all([
    save(program, context),
    save(ip6, context),
    kind === "legacy" ? context.run({ program: `${program}-save`, args: ["--version"] }) : undefined,
  ]);
  if (v4.code !== 0) {
    return { failure: failureText({ program: `${program}-save`, args: [] }, v4), missing: v4.missing === true };
  }
  return {
    backend: {
      kind,
      programs: { v4: program, v6: v6.code === 0 ? ip6 : undefined },
      states: { v4: parseKernelState(v4.stdout), v6: v6.code === 0 ? parseKernelState(v6.stdout) : EMPTY },
      ...(v6.code === 0 ? {} : { v6Failure: failureText({ program: `${ip6}-save`, args: [] }, v6) }),
      wait: version !== undefined && knowsWait(version) ? ["--wait=30"] : [],
    },
  };
}

async function probePlain(context: NetworkContext): Promise<Probe> {
  const { stdout } = await context.run({ program: "iptables-save", args: ["--version"] });
  return probe("iptables", stdout.includes("nf_tables") ? "nft" : "legacy", context);
}

/** The listing of one program, for those who want to see it. */
export async function logState(
  program: string | undefined,
  family: Family,
  { context, log }: { readonly context: NetworkContext; readonly log: Logger },
): Promise<void> {
  if (program === undefined || !log.enabled("debug")) return;
  const { stdout } = await save(program, context);
  log.debug(`Final iptables state (${family === "v4" ? "IPv4" : "IPv6"}):\n${stdout}`);
}

export function save(program: string, context: NetworkContext): Promise<ProgramResult> {
  return context.run({ program: `${program}-save`, args: [] });
}

/** Legacy programs wait for the lock on request since 1.6.2. */
function knowsWait({ stdout }: ProgramResult): boolean {
  const [major = 0, minor = 0, patch = 0] = (/v(\d+(?:\.\d+)+)/.exec(stdout)?.[1] ?? "0").split(".").map(Number);
  return major * 1e6 + minor * 1e3 + patch >= 1_006_002;
}

/** The kernel lists instantiated legacy tables here; asking the legacy program for them could create them. */
export function hasLegacyTables({ procNet }: NetworkContext): boolean {
  return ["ip_tables_names", "ip6_tables_names"].some((file) => {
    try {
      // Kernel text of a few bytes: not worth the way through the thread pool.
      return readFileSync(join(procNet, file), "utf8").trim() !== "";
    } catch {
      return false;
    }
  });
}
