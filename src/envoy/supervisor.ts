import { errorMessage } from "../base/coded-error.ts";
import { formatDurationMs } from "../base/duration.ts";
import { wait } from "../base/wait.ts";
import type { AdminClient } from "./admin-client.ts";
import type { EnvoyExit } from "./core/exit-text.ts";
import {
  type EnvoyEnd,
  nextSupervisorState,
  type SupervisorAction,
  type SupervisorEvent,
  type SupervisorPolicy,
  type SupervisorState,
  type Transition,
} from "./core/supervisor-state.ts";
import { awaitDrained, requestDrain } from "./drain.ts";
import type { EnvoyOptions, EnvoyPhase } from "./envoy-options.ts";
import { type EpochContext, notStarted, type RunningEpoch, startEpoch } from "./epoch.ts";
import { logExit, logPhase } from "./life-log.ts";

const LIVE_POLL_MS = 100;

export interface SupervisorParts extends EpochContext {
  readonly options: EnvoyOptions;
  readonly admin: AdminClient;
  readonly policy: SupervisorPolicy;
}

export interface Supervisor {
  readonly ended: Promise<EnvoyEnd>;
  begin(first: Transition): Promise<void>;
  phase(): EnvoyPhase;
  newest(): { readonly pid: number | undefined; readonly epoch: number } | undefined;
  reload(reason: string): void;
  drain(): Promise<void>;
  disableDrain(): void;
  terminate(): void;
  stopNow(): void;
}

const LIVE_WAIT_MS = 20_000;
const KILL_AFTER_MS = 3_000;

/** Carries out what `nextSupervisorState` decides: owns the processes, the timers and the drain in course. */
export function createSupervisor(parts: SupervisorParts): Supervisor {
  const { options, admin, policy } = parts;
  const { log } = options;
  const drainContext = { admin, log, options: options.termination, rules: options.rules.termination };
  const running = new Map<number, RunningEpoch>();
  const timers = new Set<NodeJS.Timeout>();
  const cutDrain = new AbortController();
  const stopping = new AbortController();
  let state: SupervisorState = { phase: "ended", end: { kind: "clean" } };
  let isDrained = false;
  let drainAsked: Promise<void> = Promise.resolve();
  let starts = 0;
  let firstStart: Promise<void> = Promise.resolve();
  let settle: (end: EnvoyEnd) => void = () => undefined;
  const ended = new Promise<EnvoyEnd>((resolve) => {
    settle = resolve;
  });

  function dispatch(event: SupervisorEvent): void {
    enter(nextSupervisorState(state, event, policy));
  }

  function enter(transition: Transition): void {
    const before = state.phase;
    state = transition.state;
    if (state.phase !== before) {
      clearTimers();
      logPhase(log, before, state, options);
      options.onPhase?.(state.phase);
    }
    // Whoever still asks a binary for its flags or its reasons has no use for the answer.
    if (state.phase !== "running" && state.phase !== "backing-off") stopping.abort();
    if (state.phase !== "draining" && before === "draining") cutDrain.abort();
    for (const action of transition.actions) act(action);
    if (state.phase === "ended") finish(state.end);
  }

  function act(action: SupervisorAction): void {
    switch (action.do) {
      case "start":
        begin(action.epoch);
        return;
      case "signal":
        for (const number of action.epochs) running.get(number)?.signal(action.signal);
        return;
      case "schedule-restart":
        log.warn("Envoy is started again after a pause", {
          delay: formatDurationMs(Math.round(action.delayMs)),
          failure: action.failure,
          of: policy.budget?.failures,
        });
        after(action.delayMs, () => dispatch({ type: "restart-due", now: Date.now() }));
        return;
      case "schedule-kill":
        after(options.termination.killAfterMs ?? KILL_AFTER_MS, () => dispatch({ type: "kill-due" }));
        return;
      case "drain":
        void drainAndGo();
        return;
      case "await-live":
        log.info(`waiting for epoch ${action.epoch} to go live before performing a hot restart`);
        after(LIVE_WAIT_MS, () => liveWaitOver(action.epoch));
        return;
      case "keep-parent":
        keepParent(action.parent, action.child);
        return;
      case "refuse-reload":
        log.info(
          `Envoy is not reloaded: it is ${action.why === "stopping" ? "being stopped" : "about to be restarted"}`,
        );
    }
  }

  function begin(number: number): void {
    const isFirst = starts++ === 0;
    if (!isFirst && number === 0) options.metrics?.restarts.inc();
    const spawned = startEpoch(parts, number, () => state.phase !== "running", stopping.signal).then((epoch) => {
      running.set(number, epoch);
      void pollLive(number, epoch);
      void epoch.exit.then((exit) => exited(number, epoch, exit));
    });
    if (isFirst) firstStart = spawned;
    // A later start without a configuration is a failure like any other.
    else {
      spawned.catch((thrown) => {
        const epoch = notStarted({ kind: "crashed", text: errorMessage(thrown) });
        void epoch.exit.then((exit) => exited(number, epoch, exit));
      });
    }
  }

  async function pollLive(number: number, epoch: RunningEpoch): Promise<void> {
    if (parts.memory === undefined) return;
    if (!(await pollUntilLive(admin, number, epoch.gone))) return;
    if (number > 0) options.metrics?.hotRestarts.inc(["success"]);
    dispatch({ type: "live", epoch: number, now: Date.now() });
  }

  async function exited(number: number, epoch: RunningEpoch, exit: EnvoyExit): Promise<void> {
    running.delete(number);
    const isLast = !("epochs" in state) || state.epochs.length < 2;
    const end = { log, exit, epoch: parts.memory === undefined ? undefined : number, phase: state.phase, isLast };
    // Of one whose preparation was broken off there is nothing to tell.
    if (epoch.pid !== undefined || isLast || state.phase === "running") logExit(end);
    if (state.phase === "running") options.onExit?.(exit.text);
    if (state.phase === "running" && exit.kind !== "clean") {
      options.metrics?.failures.inc([exit.kind]);
      const reason = await epoch.earlyReason(exit);
      if (reason !== undefined) log.error("Envoy's own reason", { reason });
    }
    await epoch.removeConfig();
    if (epoch.pid !== undefined && (await hadTakenOver(number)))
      dispatch({ type: "live", epoch: number, now: Date.now() });
    dispatch({ type: "exited", epoch: number, exit, now: Date.now(), random: Math.random() });
  }

  /**
   * A child may take over and die between two looks at it. Then the parent has drained and serves no connection: its admin is
   * closed and the mark of a child at work is gone. Without this it would remain the current one.
   */
  async function hadTakenOver(number: number): Promise<boolean> {
    if (state.phase !== "running" || state.epochs.length < 2 || state.epochs.at(-1)?.number !== number) return false;
    if (parts.memory?.isInitializing() !== false) return false;
    return admin.ready().then(
      () => false,
      () => true,
    );
  }

  async function drainAndGo(): Promise<void> {
    log.info(options.rules.termination.announcement);
    if (isDrained) {
      await drainAsked;
      log.info("Agent already drained, exiting immediately");
    } else {
      await requestDrain(drainContext, false);
      await awaitDrained(drainContext, cutDrain.signal);
    }
    dispatch({ type: "drained" });
  }

  /** The wait may long be over in another way. */
  function liveWaitOver(epoch: number): void {
    if (state.phase !== "running" || !state.isReloadWaiting || state.epochs.at(-1)?.number !== epoch) return;
    log.warn(`timed out waiting for epoch ${epoch} to go live.`);
    dispatch({ type: "live-wait-over", now: Date.now() });
  }

  function keepParent(parent: number, child: number): void {
    options.metrics?.hotRestarts.inc(["failure"]);
    log.error("Hot restart failed; the previous epoch keeps serving", { epoch: parent, failedEpoch: child });
    const isRepaired = parts.memory?.clearInitializingMark() ?? true;
    if (!isRepaired) log.warn("Envoy's shared memory cannot be repaired; the next hot restart may be refused");
    admin.ready().catch((thrown) => {
      log.warn("The previous epoch has lost its admin port to the failed one until the next reload", {
        error: errorMessage(thrown),
      });
    });
  }

  function finish(end: EnvoyEnd): void {
    clearTimers();
    cutDrain.abort();
    settle(end);
  }

  function after(ms: number, callback: () => void): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      callback();
    }, ms);
    timers.add(timer);
  }

  function clearTimers(): void {
    for (const timer of timers) clearTimeout(timer);
    timers.clear();
  }

  return {
    ended,
    begin: async (first) => {
      enter(first);
      await firstStart;
    },
    phase: () => state.phase,
    newest: () => {
      const number = Math.max(...running.keys());
      const epoch = running.get(number);
      return epoch && { pid: epoch.pid, epoch: number };
    },
    reload: (reason) => {
      if (parts.memory === undefined) {
        log.info("Nothing is reloaded: hot restart is off", { reason });
        return;
      }
      log.info("Envoy is reloaded by hot restart", { reason });
      dispatch({ type: "reload", now: Date.now() });
    },
    drain: () => {
      log.info("Agent draining proxy");
      // A signal that comes while Envoy is being asked waits for that, and needs no drain of its own.
      isDrained = true;
      drainAsked = requestDrain(drainContext, true);
      return drainAsked;
    },
    disableDrain: () => {
      isDrained = true;
    },
    terminate: () => dispatch({ type: "stop", drain: true }),
    stopNow: () => dispatch({ type: "stop", drain: false }),
  };
}

/** True once the admin interface is this epoch's and it is LIVE; false when the process went first. */
async function pollUntilLive(
  admin: Pick<AdminClient, "serverInfo">,
  epoch: number,
  gone: AbortSignal,
): Promise<boolean> {
  while (!gone.aborted) {
    try {
      const info = await admin.serverInfo();
      if (info.restartEpoch === epoch && info.state === "LIVE") return !gone.aborted;
    } catch {
      // Not listening yet, or just handed over from the previous epoch.
    }
    await wait(LIVE_POLL_MS, gone);
  }
  return false;
}
