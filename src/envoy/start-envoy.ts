import { readFileSync } from "node:fs";
import { CloseStack } from "../base/close-stack.ts";
import { toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { createAdminClient } from "./admin-client.ts";
import { impliesHotRestart } from "./core/command-line.ts";
import { DEFAULT_RESTART_BUDGET } from "./core/restart-budget.ts";
import { type EnvoyEnd, initialSupervisorState } from "./core/supervisor-state.ts";
import type { EnvoyHandle, EnvoyOptions } from "./envoy-options.ts";
import { EnvoyError } from "./errors.ts";
import { createFlagProbe } from "./flag-probe.ts";
import { openHotRestartMemory } from "./hot-restart-memory.ts";
import { startParentDeathGuard } from "./parent-death.ts";
import { createSupervisor, type Supervisor } from "./supervisor.ts";

/** Below this a busy proxy runs out: each proxied connection takes two descriptors. */
const LOW_LIMIT = 65_536;

/**
 * Starts Envoy and keeps it running. Resolves when the first process was spawned (or could not be, which is the guard's matter);
 * rejects when the configuration cannot be prepared. Spawn it from the main thread: the parent-death signal is tied to the thread.
 */
export async function startEnvoy(options: EnvoyOptions): Promise<EnvoyHandle> {
  const { log } = options;
  warnAboutLowFdLimit(log);
  await using opened = new CloseStack();
  const isHot = options.hotRestart !== undefined;
  if (!isHot && impliesHotRestart(options.rules.commandLine)) {
    throw new Error(`generation ${options.rules.generation} runs Envoy in epochs; it needs the hot restart options`);
  }
  const memory = isHot
    ? openHotRestartMemory(`${options.admin.host}:${options.admin.port}:${options.binaryPath}`)
    : undefined;
  opened.defer(() => memory?.remove());
  const leftovers = memory === undefined ? [] : [memory.path];
  const guard = opened.add(
    await startParentDeathGuard(log, { setpriv: options.setpriv, searchPath: options.env.PATH ?? "", leftovers }),
  );
  const admin = createAdminClient(options.admin);
  const supervisor = createSupervisor({
    options,
    admin,
    guard,
    memory,
    knownMissing: new Set(),
    doubtsFlags: false,
    flagProbe: options.flagProbe ?? createFlagProbe(),
    policy: { budget: options.guard === "off" ? undefined : (options.budget ?? DEFAULT_RESTART_BUDGET) },
  });
  log.info("Starting proxy agent");
  await beginUnlessAborted(supervisor, options.signal);
  const owned = opened.move();
  const gone = supervisor.ended.finally(() => owned.close());
  return toHandle({
    admin,
    ended: gone.then((end) => throwFailure(end, options)),
    get phase() {
      return supervisor.phase();
    },
    get pid() {
      return supervisor.newest()?.pid;
    },
    get epoch() {
      return supervisor.newest()?.epoch ?? 0;
    },
    isHotRestartable: isHot,
    reload: supervisor.reload,
    drain: supervisor.drain,
    disableDrain: supervisor.disableDrain,
    terminate: async () => {
      supervisor.terminate();
      await gone;
    },
    stop: async () => {
      supervisor.stopNow();
      await gone;
    },
  });
}

/** A binary that is asked for its flags may take seconds to answer; whoever ends the start meanwhile needs no answer. */
async function beginUnlessAborted(supervisor: Supervisor, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  signal?.addEventListener("abort", supervisor.stopNow, { once: true });
  try {
    await supervisor.begin(initialSupervisorState(Date.now()));
  } finally {
    signal?.removeEventListener("abort", supervisor.stopNow);
  }
  if (signal?.aborted) await supervisor.ended;
  signal?.throwIfAborted();
}

function throwFailure(end: EnvoyEnd, options: EnvoyOptions): void {
  if (end.kind === "clean") return;
  // Without the guard the agent ends as the reference does, which reports success.
  const exitCode = options.guard === "off" ? 0 : undefined;
  throw new EnvoyError(end.kind, `Envoy exited with error: ${end.text}`, exitCode);
}

/** Warns when the soft limit that Envoy inherits is low. Silent where the system does not say. */
export function warnAboutLowFdLimit(log: Logger, limitsText = readLimits()): void {
  const soft = /^Max open files\s+(\d+|unlimited)\s+(\d+|unlimited)/m.exec(limitsText);
  const limit = soft?.[1];
  if (limit === undefined || limit === "unlimited" || Number(limit) >= LOW_LIMIT) return;
  log.warn("The limit of open files is low for a proxy; connections fail when it is reached", {
    limit: Number(limit),
    hardLimit: soft?.[2],
    recommended: LOW_LIMIT,
  });
}

function readLimits(): string {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    return "";
  }
}
