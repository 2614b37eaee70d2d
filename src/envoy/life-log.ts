import type { Logger } from "../base/logger.ts";
import type { EnvoyExit } from "./core/exit-text.ts";
import type { SupervisorState } from "./core/supervisor-state.ts";
import type { EnvoyOptions, EnvoyPhase } from "./envoy-options.ts";

/** The reference's lines around the end of one process. */
export function logExit(end: {
  readonly log: Logger;
  readonly exit: EnvoyExit;
  readonly epoch: number | undefined;
  readonly phase: EnvoyPhase;
  /** No other epoch runs. */
  readonly isLast: boolean;
}): void {
  const { log, exit, epoch, phase, isLast } = end;
  if (phase === "draining" && isLast) {
    log.info(`Envoy exited with status ${exit.text}`);
    log.info("Graceful termination logic ended prematurely, envoy process terminated early");
    return;
  }
  if (phase === "terminating" || phase === "killing") {
    log.info("Envoy aborted normally");
    log.warn("Aborted proxy instance");
    return;
  }
  // An epoch that was replaced ends in its time, also during the drain of the one that serves.
  if (phase !== "running" && phase !== "draining") return;
  const name = epoch === undefined ? "Envoy" : `Epoch ${epoch}`;
  if (exit.kind === "killed") log.warn("Envoy may have been out of memory killed. Check memory usage and limits.");
  if (exit.kind === "clean") log.info(`${name} exited normally`);
  else log.error(`${name} exited with error: ${exit.text}`);
}

/** The reference's lines around the end the agent brings about. */
export function logPhase(log: Logger, before: EnvoyPhase, state: SupervisorState, options: EnvoyOptions): void {
  switch (state.phase) {
    case "terminating":
      log.warn("Aborting proxy");
      return;
    case "killing":
      log.warn("Envoy did not end when asked to and is killed");
      return;
    case "ended":
      if (state.end.kind === "clean") {
        if (before !== "running") log.info("Agent has successfully terminated");
      } else if (options.guard !== "off") {
        log.error("Envoy failed too often; the agent gives up", { kind: state.end.kind, last: state.end.text });
      }
      return;
    default:
  }
}
