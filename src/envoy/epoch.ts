import { errorMessage } from "../base/coded-error.ts";
import { buildEnvoyArgs } from "./core/command-line.ts";
import type { EnvoyExit } from "./core/exit-text.ts";
import { dropUnknownFlags, hasDoubtfulFlags } from "./core/known-flags.ts";
import type { EnvoyConfigFile, EnvoyOptions } from "./envoy-options.ts";
import { findExecutable } from "./executable.ts";
import type { FlagProbe } from "./flag-probe.ts";
import type { HotRestartMemory } from "./hot-restart-memory.ts";
import type { ParentDeathGuard } from "./parent-death.ts";
import { explainEarlyDeath, validateConfig } from "./preflight.ts";
import { type EnvoyProcess, spawnEnvoy } from "./spawn-envoy.ts";

export interface EpochContext {
  readonly options: EnvoyOptions;
  readonly guard: ParentDeathGuard;
  readonly flagProbe: FlagProbe;
  /** Flags that were left out and warned about before. */
  readonly knownMissing: Set<string>;
  /** A process that ended at once may not have known a flag that all were thought to know. */
  doubtsFlags: boolean;
  /** Present in hot restart mode. */
  readonly memory: HotRestartMemory | undefined;
}

/** One Envoy process from its configuration file to its exit. */
export interface RunningEpoch {
  readonly pid: number | undefined;
  readonly exit: Promise<EnvoyExit>;
  /** Aborts with the exit. */
  readonly gone: AbortSignal;
  signal(signal: "SIGTERM" | "SIGKILL"): void;
  /** Envoy's complaint about its configuration, when it died at once with an exit code. */
  earlyReason(exit: EnvoyExit): Promise<string | undefined>;
  removeConfig(): Promise<void>;
}

const EARLY_MS = 1_000;

export const FIPS_CIPHER_SUITES =
  "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384";

/** Rejects only when there is no configuration; every other failure is an exit of the epoch. `stopping` ends what it waits for. */
export async function startEpoch(
  context: EpochContext,
  number: number,
  isCancelled: () => boolean,
  stopping: AbortSignal,
): Promise<RunningEpoch> {
  const { options } = context;
  const { log } = options;
  if (number > 0) log.info(`Received new config, creating new Envoy epoch ${number}`);
  const config = await options.prepareConfig(number);
  const removeConfig = () => removeFile(config, options);
  const env = childEnvironment(options);
  const binary = findExecutable(options.binaryPath, options.env.PATH ?? "");
  if ("problem" in binary) return notStarted(binary.problem, removeConfig);
  const wanted = argumentsOf(context, config, number);
  const known = mustAsk(context, wanted) ? await context.flagProbe.knownFlags(binary, stopping) : new Set<string>();
  const { passed: args, dropped } = dropUnknownFlags(wanted, known);
  warnOnce(context, dropped);
  const { user, stdio } = options;
  const command = { binaryPath: binary.path, args, env, user, signal: stopping };
  const complaint = number > 0 ? await validateConfig(command) : undefined;
  if (complaint !== undefined) return notStarted({ kind: "crashed", text: complaint }, removeConfig);
  if (isCancelled()) return notStarted({ kind: "clean", text: "<nil>" }, removeConfig);
  log.info(`Envoy command: [${args.join(" ")}]`);
  const child = spawnEnvoy({
    binaryPath: binary.path,
    args,
    env,
    guard: context.guard,
    ...(user === undefined ? {} : { user }),
    ...(stdio === undefined ? {} : { stdio }),
  });
  return toRunning(child, removeConfig, () => {
    context.doubtsFlags = true;
    return explainEarlyDeath(command, number === 0);
  });
}

/** Without the guard there is no second start that could do better. */
function mustAsk({ options, doubtsFlags }: EpochContext, args: readonly string[]): boolean {
  return doubtsFlags || options.guard === "off" || hasDoubtfulFlags(args);
}

function toRunning(
  child: EnvoyProcess,
  removeConfig: () => Promise<void>,
  explain: () => Promise<string | undefined>,
): RunningEpoch {
  const startedAt = Date.now();
  const gone = new AbortController();
  let livedMs = 0;
  const exit = child.exit.then((result) => {
    livedMs = Date.now() - startedAt;
    gone.abort();
    return result;
  });
  return {
    pid: child.pid,
    exit,
    gone: gone.signal,
    signal: child.signal,
    earlyReason: async (ended) => (livedMs < EARLY_MS && ended.text.startsWith("exit status") ? explain() : undefined),
    removeConfig,
  };
}

/** An epoch that ended before there was a process. */
export function notStarted(exit: EnvoyExit, removeConfig = async () => {}): RunningEpoch {
  return {
    pid: undefined,
    exit: Promise.resolve(exit),
    gone: AbortSignal.abort(),
    signal: () => undefined,
    earlyReason: async () => undefined,
    removeConfig,
  };
}

function warnOnce({ options, knownMissing }: EpochContext, dropped: readonly string[]): void {
  const news = dropped.filter((flag) => !knownMissing.has(flag));
  if (news.length === 0) return;
  for (const flag of news) knownMissing.add(flag);
  options.log.warn("Envoy does not know these flags; they are left out", { flags: news.join(" ") });
}

function argumentsOf({ options, memory }: EpochContext, config: EnvoyConfigFile, epoch: number): string[] {
  const { path: configFile, configYaml } = config;
  const args = { ...options.args, configFile, ...(configYaml !== undefined && { configYaml }) };
  if (memory === undefined || options.hotRestart === undefined) return buildEnvoyArgs(options.rules.commandLine, args);
  const hotRestart = { epoch, baseId: memory.baseId, parentShutdownMs: options.hotRestart.parentShutdownMs };
  return buildEnvoyArgs(options.rules.commandLine, { ...args, hotRestart });
}

function childEnvironment({ env, fips }: EnvoyOptions): NodeJS.ProcessEnv {
  return fips ? { ...env, GRPC_SSL_CIPHER_SUITES: FIPS_CIPHER_SUITES } : { ...env };
}

async function removeFile(config: EnvoyConfigFile, { log }: EnvoyOptions): Promise<void> {
  try {
    await config.remove?.();
  } catch (thrown) {
    log.warn(`Failed to delete config file ${config.path}: ${errorMessage(thrown)}`);
  }
}
