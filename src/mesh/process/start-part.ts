import { closeSync, fstatSync, openSync } from "node:fs";
import { errorMessage } from "../../base/coded-error.ts";
import { wait } from "../../base/wait.ts";
import { identifyProcess, type ProcessIdentity } from "../../process/process-identity.ts";
import { type ChildProcess, isGroupAlive, signalGroup, spawnProgram } from "../../process/spawn-program.ts";
import { tellingLine } from "../core/log-lines.ts";
import {
  exitText,
  FRESH,
  isCrashLoop,
  nextRestart,
  type PartStatus,
  type RestartState,
} from "../core/restart-policy.ts";
import { readLogEnd } from "./read-log.ts";

/** One process of the mesh that has to keep running: an application, an agent, the control plane. */
export interface PartSpec {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly logFile: string;
  /** Who reads and writes the log file beside root; Envoy opens it by name for its access log. */
  readonly onLogOpened?: (descriptor: number) => void;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** SIGTERM is for the whole group: a shell does not pass it on. Not for an agent, which ends its Envoy itself. */
  readonly endsGroup?: boolean;
}

export type PartEvent =
  | { readonly type: "started"; readonly name: string; readonly identity: ProcessIdentity | undefined }
  | {
      readonly type: "ended";
      readonly name: string;
      readonly reason: string;
      /** The end of what this process has written; empty when it wrote nothing. */
      readonly lastLines: readonly string[];
      readonly delayMs: number;
      readonly isLoop: boolean;
    };

export interface Part {
  readonly name: string;
  status(): PartStatus;
  /** Starts it again if it was stopped. */
  start(): void;
  /** What its next start begins with; the running process goes on as it is. */
  setSpec(spec: PartSpec): void;
  /** Resolves when the process and everything in its group are gone. */
  stop(): Promise<void>;
  kill(signal: NodeJS.Signals): boolean;
}

export const TRIAL_MS = 3000;
const LAST_LINES = 8;

/** Starts the process and starts it again whenever it ends; never throws, what is wrong shows in its status. */
export function startPart(first: PartSpec, onEvent: (event: PartEvent) => void): Part {
  let spec = first;
  let restart: RestartState = FRESH;
  let current: Running | undefined;
  let timer: NodeJS.Timeout | undefined;
  let reason = "not started yet";
  let isWanted = true;

  const launch = () => {
    timer = undefined;
    const since = Date.now();
    const running = spawnPart(spec);
    current = running;
    if (running.child.pid !== undefined) {
      onEvent({ type: "started", name: spec.name, identity: identifyProcess(running.child.pid) });
    }
    void running.ended.then((text) => {
      current = undefined;
      const lastLines = readLogEnd(spec.logFile, running.logStart, LAST_LINES);
      const telling = tellingLine(lastLines);
      reason = telling === undefined ? text : `${text}: ${telling}`;
      if (!isWanted) return;
      const decision = nextRestart(restart, Date.now() - since);
      restart = decision.state;
      timer = setTimeout(launch, decision.delayMs);
      const isLoop = isCrashLoop(restart);
      onEvent({ type: "ended", name: spec.name, reason: text, lastLines, delayMs: decision.delayMs, isLoop });
    });
  };
  launch();

  return {
    name: spec.name,
    setSpec(next) {
      spec = next;
    },
    status() {
      const { restarts } = restart;
      if (!isWanted) return { phase: "stopped", restarts };
      const pid = current?.child.pid;
      // One that has just been started for the fifth time is no better than a moment ago.
      const isTrying = isCrashLoop(restart) && Date.now() - (current?.since ?? 0) < TRIAL_MS;
      if (current === undefined || pid === undefined || isTrying) {
        return { phase: isCrashLoop(restart) ? "crash-loop" : "waiting", reason, restarts };
      }
      return { phase: "running", pid, since: current.since, restarts };
    },
    start() {
      if (isWanted) return;
      isWanted = true;
      restart = { ...FRESH, restarts: restart.restarts };
      if (current === undefined) launch();
      // One that is still ending is followed by a new one.
      else void current.ended.then(() => isWanted && current === undefined && timer === undefined && launch());
    },
    async stop() {
      isWanted = false;
      clearTimeout(timer);
      timer = undefined;
      await current?.end(spec.graceMs);
    },
    kill: (signal) => current?.child.kill(signal) ?? false,
  };
}

interface Running {
  readonly child: Pick<ChildProcess, "pid" | "kill">;
  readonly since: number;
  /** Where its own lines begin in the log, which earlier processes have written to. */
  readonly logStart: number;
  /** Settles with how it ended. */
  readonly ended: Promise<string>;
  end(graceMs: number): Promise<void>;
}

function spawnPart(spec: PartSpec): Running {
  const [program = "", ...args] = spec.command;
  const output = openLog(spec);
  const logStart = typeof output === "number" ? fstatSync(output).size : 0;
  let child: ChildProcess;
  try {
    // Some failures of the system (a too long environment, no memory) are thrown, others come as events.
    child = spawnProgram(program, args, {
      cwd: spec.directory,
      env: spec.env,
      // Files and never pipes: Envoy opens /dev/stdout by name, and no reader is needed for the process to go on.
      stdio: ["ignore", output, output],
      // A group of its own: Ctrl-C reaches `mesh up` alone, which ends the parts in order, and a shell's children end with it.
      detached: true,
    });
  } catch (thrown) {
    return notStarted(errorMessage(thrown));
  } finally {
    if (typeof output === "number") closeSync(output);
  }
  let isEnding = false;
  const ended = new Promise<string>((resolve) => {
    child.once("error", (thrown) => resolve(errorMessage(thrown)));
    child.once("exit", (code, signal) => resolve(exitText(code, signal)));
  }).finally(() => isEnding || signalGroup(child, "SIGKILL"));
  return {
    child,
    since: Date.now(),
    logStart,
    ended,
    async end(graceMs) {
      const deadline = Date.now() + graceMs;
      isEnding = spec.endsGroup === true;
      if (isEnding) signalGroup(child, "SIGTERM");
      else child.kill("SIGTERM");
      const timer = setTimeout(() => signalGroup(child, "SIGKILL"), graceMs);
      await ended;
      clearTimeout(timer);
      // Children of a shell have the rest of the time to end in their own way.
      if (isEnding) await untilGroupIsGone(child, deadline - Date.now());
      signalGroup(child, "SIGKILL");
      await untilGroupIsGone(child, GONE_MS);
    },
  };
}

function notStarted(reason: string): Running {
  const child = { pid: undefined, kill: () => false };
  return { child, since: Date.now(), logStart: 0, ended: Promise.resolve(reason), end: async () => undefined };
}

/** A log that cannot be opened must not keep the part from running. */
function openLog({ logFile, onLogOpened }: PartSpec): number | "ignore" {
  try {
    const descriptor = openSync(logFile, "a", 0o644);
    onLogOpened?.(descriptor);
    return descriptor;
  } catch {
    return "ignore";
  }
}

const GONE_MS = 1000;

/** A killed process is there for a moment longer; where no parent collects the dead, their entries stay, so there is a limit. */
async function untilGroupIsGone(child: ChildProcess, limitMs: number): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (isGroupAlive(child) && Date.now() < deadline) await wait(5);
}
