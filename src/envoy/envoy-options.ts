import type { Handle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import type { AdminAddress, AdminClient } from "./admin-client.ts";
import type { EnvoyArgs } from "./core/command-line.ts";
import type { EnvoyRules } from "./core/generations.ts";
import type { RestartBudget } from "./core/restart-budget.ts";
import type { SupervisorState } from "./core/supervisor-state.ts";
import type { TerminationOptions } from "./drain.ts";
import type { FlagProbe } from "./flag-probe.ts";
import type { EnvoyMetrics } from "./metrics.ts";

/** The configuration file of one epoch; it exists until that epoch has exited. */
export interface EnvoyConfigFile {
  readonly path: string;
  /** Compact JSON that Envoy merges over the file. */
  readonly configYaml?: string;
  /** Absent for files that are not the agent's own. */
  remove?(): Promise<void>;
}

export interface EnvoyOptions {
  readonly rules: EnvoyRules;
  readonly binaryPath: string;
  /** Everything of the command line but the configuration and the epoch. */
  readonly args: Omit<EnvoyArgs, "configFile" | "configYaml" | "hotRestart">;
  /** Called before each start, so that a restart sees the present configuration. A rejection fails that start. */
  readonly prepareConfig: (epoch: number) => Promise<EnvoyConfigFile>;
  readonly admin: AdminAddress;
  readonly termination: TerminationOptions;
  /** On when present. Envoys up to 1.9 need it; see `impliesHotRestart`. */
  readonly hotRestart?: { readonly parentShutdownMs: number };
  /** `off` is the reference's behaviour: an Envoy that ends is not started again and the agent's exit code is 0. */
  readonly guard?: "on" | "off";
  readonly budget?: RestartBudget;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** The whole environment of the child; PATH in it also finds a binary given by name. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Adds the cipher list that FIPS compliance asks of gRPC inside Envoy. */
  readonly fips?: boolean;
  readonly log: Logger;
  readonly metrics?: EnvoyMetrics;
  /** Called on every change of phase, for readiness. */
  readonly onPhase?: (phase: EnvoyPhase) => void;
  /** Called with how a process ended that was meant to go on. */
  readonly onExit?: (reason: string) => void;
  /** A probe that was asked ahead of time saves its run here. */
  readonly flagProbe?: FlagProbe;
  readonly stdio?: { readonly stdout: number; readonly stderr: number };
  /** The program that sets the parent-death signal; found in PATH. */
  readonly setpriv?: string;
  /** Aborted before the first process is there: none is spawned, nothing is waited for, and the start rejects with its reason. */
  readonly signal?: AbortSignal;
}

export type EnvoyPhase = SupervisorState["phase"];

/** `ended` rejects with an `EnvoyError`, whose `exitCode` the agent's process should take. */
export interface EnvoyHandle extends Handle {
  readonly admin: AdminClient;
  readonly phase: EnvoyPhase;
  /** The newest process. */
  readonly pid: number | undefined;
  readonly epoch: number;
  readonly isHotRestartable: boolean;
  /** Starts a new epoch that takes over from the present one; outside hot restart mode it only logs why it does nothing. */
  reload(reason: string): void;
  /** Drains the listeners and keeps running; a later `terminate` then needs no drain of its own. */
  drain(): Promise<void>;
  /** A later `terminate` goes without a drain. */
  disableDrain(): void;
  /** Drain, wait, SIGTERM, SIGKILL. A second call skips the rest of the drain, a third kills. Resolves when no process is left. */
  terminate(): Promise<void>;
  /** As `Handle.stop`: ends Envoy without a drain. */
  stop(): Promise<void>;
}
