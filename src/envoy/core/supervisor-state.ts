import type { EnvoyExit, ExitKind } from "./exit-text.ts";
import { type FailureRow, NO_FAILURES, nextFailure, type RestartBudget } from "./restart-budget.ts";

/** One run of Envoy from start to exit. Without hot restart there is only ever epoch 0. */
export interface Epoch {
  readonly number: number;
  readonly isLive: boolean;
  readonly startedAt: number;
}

/** How it all ended: `clean`, or the failure that used up the budget (or, without a guard, the first one). */
export type EnvoyEnd =
  | { readonly kind: "clean" }
  | { readonly kind: Exclude<ExitKind, "clean">; readonly text: string };

export type SupervisorState =
  | {
      readonly phase: "running";
      /** Oldest first; the last one takes the traffic. */
      readonly epochs: readonly Epoch[];
      readonly failures: FailureRow;
      /** A reload waits until the newest epoch is live. */
      readonly isReloadWaiting: boolean;
    }
  | {
      readonly phase: "backing-off";
      /** Older epochs that were killed and are not reaped yet; their ports and sockets are in the way. */
      readonly epochs: readonly Epoch[];
      readonly failures: FailureRow;
      readonly isDue: boolean;
    }
  | {
      readonly phase: "draining" | "terminating" | "killing";
      readonly epochs: readonly Epoch[];
      readonly end: EnvoyEnd;
    }
  | { readonly phase: "ended"; readonly end: EnvoyEnd };

export type SupervisorEvent =
  | { readonly type: "live"; readonly epoch: number; readonly now: number }
  | {
      readonly type: "exited";
      readonly epoch: number;
      readonly exit: EnvoyExit;
      readonly now: number;
      readonly random: number;
    }
  | { readonly type: "reload"; readonly now: number }
  | { readonly type: "live-wait-over"; readonly now: number }
  | { readonly type: "restart-due"; readonly now: number }
  | { readonly type: "stop"; readonly drain: boolean }
  | { readonly type: "drained" }
  | { readonly type: "kill-due" };

/** What the supervisor does next, in this order. */
export type SupervisorAction =
  | { readonly do: "start"; readonly epoch: number }
  | { readonly do: "signal"; readonly epochs: readonly number[]; readonly signal: "SIGTERM" | "SIGKILL" }
  | { readonly do: "schedule-restart"; readonly delayMs: number; readonly failure: number }
  | { readonly do: "schedule-kill" }
  | { readonly do: "drain" }
  | { readonly do: "await-live"; readonly epoch: number }
  | { readonly do: "keep-parent"; readonly parent: number; readonly child: number }
  | { readonly do: "refuse-reload"; readonly why: "stopping" | "restarting" };

export interface SupervisorPolicy {
  /** Undefined: an Envoy that ends is not started again. */
  readonly budget: RestartBudget | undefined;
}

export interface Transition {
  readonly state: SupervisorState;
  readonly actions: readonly SupervisorAction[];
}

type Exited = Extract<SupervisorEvent, { type: "exited" }>;
type Running = Extract<SupervisorState, { phase: "running" }>;

const CLEAN: EnvoyEnd = { kind: "clean" };

export function initialSupervisorState(now: number): Transition {
  return start([], 0, NO_FAILURES, now);
}

/** Decides only; the supervisor acts on the result. */
export function nextSupervisorState(
  state: SupervisorState,
  event: SupervisorEvent,
  policy: SupervisorPolicy,
): Transition {
  switch (state.phase) {
    case "running":
      return whileRunning(state, event, policy);
    case "backing-off":
      return whileBackingOff(state, event);
    case "draining":
    case "terminating":
    case "killing":
      return whileStopping(state, event);
    case "ended":
      return event.type === "reload" ? refuse(state, "stopping") : stay(state);
  }
}

function whileRunning(state: Running, event: SupervisorEvent, policy: SupervisorPolicy): Transition {
  const newest = state.epochs.at(-1);
  switch (event.type) {
    case "live": {
      const epochs = state.epochs.map((epoch) => (epoch.number === event.epoch ? { ...epoch, isLive: true } : epoch));
      const isAwaited = state.isReloadWaiting && event.epoch === newest?.number;
      if (isAwaited) return start(epochs, nextNumber(newest), state.failures, event.now);
      return stay({ ...state, epochs });
    }
    case "reload":
      if (newest === undefined || newest.isLive)
        return start(state.epochs, nextNumber(newest), state.failures, event.now);
      if (state.isReloadWaiting) return stay(state);
      return { state: { ...state, isReloadWaiting: true }, actions: [{ do: "await-live", epoch: newest.number }] };
    case "live-wait-over":
      if (!state.isReloadWaiting) return stay(state);
      return start(state.epochs, nextNumber(newest), state.failures, event.now);
    case "stop":
      if (!event.drain) return terminate(state.epochs, CLEAN);
      return { state: { phase: "draining", epochs: state.epochs, end: CLEAN }, actions: [{ do: "drain" }] };
    case "exited":
      return event.epoch === newest?.number ? newestExited(state, newest, event, policy) : olderExited(state, event);
    default:
      return stay(state);
  }
}

/** A parent that crashes while its child still takes over leaves that child waiting for answers: start afresh instead. */
function olderExited(state: Running, event: Exited): Transition {
  const epochs = without(state.epochs, event.epoch);
  const child = epochs.at(-1);
  const isOrphaned = event.exit.kind !== "clean" && child !== undefined && !child.isLive;
  return { state: { ...state, epochs }, actions: isOrphaned ? kill([child]) : [] };
}

function newestExited(state: Running, newest: Epoch, event: Exited, policy: SupervisorPolicy): Transition {
  const older = without(state.epochs, event.epoch);
  const parent = older.at(-1);
  if (parent !== undefined && !newest.isLive) {
    // A child that never took over: the parent still has the traffic and stays the current one.
    const next: Running = { ...state, epochs: older, isReloadWaiting: false };
    return { state: next, actions: [{ do: "keep-parent", parent: parent.number, child: newest.number }] };
  }
  // Older epochs have drained and would never be terminated.
  if (event.exit.kind === "clean") return older.length === 0 ? end(CLEAN) : terminate(older, CLEAN);
  return newestFailed(
    older,
    { kind: event.exit.kind, text: event.exit.text },
    { ...event, newest, failures: state.failures },
    policy,
  );
}

function newestFailed(
  older: readonly Epoch[],
  failure: EnvoyEnd,
  context: { readonly newest: Epoch; readonly failures: FailureRow; readonly now: number; readonly random: number },
  policy: SupervisorPolicy,
): Transition {
  const { newest, failures, now, random } = context;
  const decision = policy.budget && nextFailure(failures, { startedAt: newest.startedAt, now, random }, policy.budget);
  if (decision?.delayMs === undefined) {
    if (older.length === 0) return end(failure);
    return { state: { phase: "killing", epochs: older, end: failure }, actions: kill(older) };
  }
  return {
    state: { phase: "backing-off", epochs: older, failures: decision.row, isDue: false },
    actions: [...kill(older), { do: "schedule-restart", delayMs: decision.delayMs, failure: decision.row.count }],
  };
}

function whileBackingOff(
  state: Extract<SupervisorState, { phase: "backing-off" }>,
  event: SupervisorEvent,
): Transition {
  switch (event.type) {
    case "exited": {
      const epochs = without(state.epochs, event.epoch);
      if (state.isDue && epochs.length === 0) return start([], 0, state.failures, event.now);
      return stay({ ...state, epochs });
    }
    case "restart-due":
      if (state.epochs.length > 0) return stay({ ...state, isDue: true });
      return start([], 0, state.failures, event.now);
    case "reload":
      return refuse(state, "restarting");
    case "stop":
      if (state.epochs.length === 0) return end(CLEAN);
      return stay({ phase: "killing", epochs: state.epochs, end: CLEAN });
    default:
      return stay(state);
  }
}

function whileStopping(
  state: Extract<SupervisorState, { phase: "draining" | "terminating" | "killing" }>,
  event: SupervisorEvent,
): Transition {
  switch (event.type) {
    case "exited": {
      const epochs = without(state.epochs, event.epoch);
      if (epochs.length === 0) return end(state.end);
      const isNext = state.phase === "terminating" && event.epoch === state.epochs.at(-1)?.number;
      return { state: { ...state, epochs }, actions: isNext ? termNewest(epochs) : [] };
    }
    case "drained":
      return state.phase === "draining" ? terminate(state.epochs, state.end) : stay(state);
    case "stop":
      // Each further request skips what is left of the present step.
      if (state.phase === "draining") return terminate(state.epochs, state.end);
      return state.phase === "terminating" ? killNow(state.epochs, state.end) : stay(state);
    case "kill-due":
      return state.phase === "terminating" ? killNow(state.epochs, state.end) : stay(state);
    case "reload":
      return refuse(state, "stopping");
    default:
      return stay(state);
  }
}

function start(epochs: readonly Epoch[], number: number, failures: FailureRow, now: number): Transition {
  const started = [...epochs, { number, isLive: false, startedAt: now }];
  return {
    state: { phase: "running", epochs: started, failures, isReloadWaiting: false },
    actions: [{ do: "start", epoch: number }],
  };
}

function terminate(epochs: readonly Epoch[], end: EnvoyEnd): Transition {
  return { state: { phase: "terminating", epochs, end }, actions: [...termNewest(epochs), { do: "schedule-kill" }] };
}

/** Newest first, one at a time: a child that waits for an answer of its parent, gone meanwhile, would not hear SIGTERM. */
function termNewest(epochs: readonly Epoch[]): SupervisorAction[] {
  return [{ do: "signal", epochs: numbers(epochs.slice(-1)), signal: "SIGTERM" }];
}

function killNow(epochs: readonly Epoch[], end: EnvoyEnd): Transition {
  return { state: { phase: "killing", epochs, end }, actions: kill(epochs) };
}

function kill(epochs: readonly Epoch[]): SupervisorAction[] {
  return epochs.length === 0 ? [] : [{ do: "signal", epochs: numbers(epochs), signal: "SIGKILL" }];
}

function end(result: EnvoyEnd): Transition {
  return stay({ phase: "ended", end: result });
}

function refuse(state: SupervisorState, why: "stopping" | "restarting"): Transition {
  return { state, actions: [{ do: "refuse-reload", why }] };
}

function stay(state: SupervisorState): Transition {
  return { state, actions: [] };
}

function nextNumber(newest: Epoch | undefined): number {
  return newest === undefined ? 0 : newest.number + 1;
}

function without(epochs: readonly Epoch[], number: number): readonly Epoch[] {
  return epochs.filter((epoch) => epoch.number !== number);
}

function numbers(epochs: readonly Epoch[]): number[] {
  return epochs.map((epoch) => epoch.number);
}
