import { connect } from "node:net";
import { msToNextTick } from "../base/aligned-interval.ts";
import { errorMessage } from "../base/coded-error.ts";
import { wait } from "../base/wait.ts";
import { httpRequest } from "../net/http-client/http-request.ts";
import { runProgram } from "../process/run-program.ts";
import { appPart, type PartInputs } from "./build-parts.ts";
import { HEALTH_PATH } from "./core/agent-environment.ts";
import { commandWords } from "./core/app-environment.ts";
import { freshHealth, type Health, type HealthRecord, nextHealth, untilNextCheck } from "./core/health-state.ts";
import type { HealthCheck } from "./core/mesh-file.ts";
import type { MeshPlan, Workload } from "./core/mesh-plan.ts";
import type { PartStatus } from "./core/restart-policy.ts";
import type { RunningMesh } from "./running-mesh.ts";

export interface HealthChecksOptions {
  readonly running: Pick<RunningMesh, "plan">;
  inputs(plan: MeshPlan): PartInputs;
  /** Of the workload's application. */
  app(workload: Workload): PartStatus;
}

/** Asks applications that have a health check whether they work. */
export interface HealthChecks {
  /** Undefined for a workload without a check, or whose application does not run. */
  of(workload: Workload): Health | undefined;
  stop(): Promise<void>;
}

const POLL_MS = 100;
/** While no workload has a check; changed files may bring one. At the moments at which those are looked at. */
const IDLE_POLL_MS = 250;
const MAX_REASON = 120;

export function startHealthChecks(options: HealthChecksOptions): HealthChecks {
  const { running } = options;
  const ending = new AbortController();
  const records = new Map<string, HealthRecord>();
  const due = new Map<string, number>();
  const underWay = new Map<string, Promise<void>>();
  const check = async (workload: Workload, healthCheck: HealthCheck, pid: number) => {
    const known = records.get(workload.name);
    const record = known?.pid === pid ? known : freshHealth(pid, Date.now());
    records.set(workload.name, record);
    const failure = await probe(options, workload, healthCheck, ending.signal);
    // Restarted meanwhile: the answer may be the old one's.
    const status = options.app(workload);
    if (ending.signal.aborted || status.phase !== "running" || status.pid !== pid) return;
    const next = nextHealth(record, failure, healthCheck, Date.now());
    records.set(workload.name, next);
    due.set(workload.name, Date.now() + untilNextCheck(next, healthCheck.intervalMs));
  };
  const look = () => {
    for (const workload of running.plan.workloads) {
      const { name, healthCheck } = workload;
      if (healthCheck === undefined || underWay.has(name)) continue;
      const status = options.app(workload);
      if (status.phase !== "running") continue;
      const isSame = records.get(name)?.pid === status.pid;
      if (isSame && (due.get(name) ?? 0) > Date.now()) continue;
      underWay.set(
        name,
        check(workload, healthCheck, status.pid).finally(() => underWay.delete(name)),
      );
    }
  };
  const run = async () => {
    while (!ending.signal.aborted) {
      look();
      const hasChecks = running.plan.workloads.some(({ healthCheck }) => healthCheck !== undefined);
      await wait(hasChecks ? POLL_MS : msToNextTick(IDLE_POLL_MS, performance.now()), ending.signal);
    }
    await Promise.all(underWay.values());
  };
  const finished = run();
  return {
    of(workload) {
      const status = options.app(workload);
      if (workload.healthCheck === undefined || status.phase !== "running") return undefined;
      const record = records.get(workload.name);
      return record?.pid === status.pid ? record.health : freshHealth(status.pid, 0).health;
    },
    async stop() {
      ending.abort();
      await finished;
    },
  };
}

/** Why the check failed; undefined when it passed. */
async function probe(
  options: HealthChecksOptions,
  workload: Workload,
  { probe: what, timeoutMs }: HealthCheck,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (what.kind === "command") return commandFailure(options, workload, { command: what.command, timeoutMs, signal });
  const { netns, address, ports, app } = workload;
  // In a namespace only its agent reaches the application, past the capture.
  if (netns !== undefined) {
    const question = what.kind === "http" ? what.path : `port ${what.port}`;
    return httpFailure(`http://${address}:${ports.status}${HEALTH_PATH}`, question, timeoutMs + AGENT_MS);
  }
  const host = app?.host ?? "127.0.0.1";
  if (what.kind === "http") return httpFailure(`http://${host}:${what.port}${what.path}`, what.path, timeoutMs);
  return tcpFailure(host, what.port, timeoutMs);
}

/** The agent has a limit of its own, in whole seconds. */
const AGENT_MS = 1000;

async function httpFailure(url: string, question: string, timeoutMs: number): Promise<string | undefined> {
  try {
    const { status, body } = await httpRequest({ url, timeoutMs });
    if (status >= 200 && status < 400) return undefined;
    const [line = ""] = body.trim().split("\n");
    return `${question} answers ${status}${line === "" ? "" : `: ${line.slice(0, MAX_REASON)}`}`;
  } catch (thrown) {
    return `${question}: ${errorMessage(thrown)}`;
  }
}

function tcpFailure(host: string, port: number, timeoutMs: number): Promise<string | undefined> {
  return new Promise((done) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (failure?: string) => {
      socket.destroy();
      done(failure);
    };
    socket.once("connect", () => end());
    socket.once("timeout", () => end(`port ${port} does not answer within ${timeoutMs} ms`));
    socket.once("error", (thrown) => end(`port ${port}: ${errorMessage(thrown)}`));
  });
}

/** Where the application runs: its network, user, folder and environment. */
async function commandFailure(
  { inputs, running }: HealthChecksOptions,
  workload: Workload,
  {
    command,
    timeoutMs,
    signal,
  }: Pick<HealthCheck, "timeoutMs"> & {
    readonly command: Workload["command"];
    readonly signal: AbortSignal;
  },
): Promise<string | undefined> {
  const given = inputs(running.plan);
  const { env } = appPart(given, workload);
  const part = appPart(given, { ...workload, command: commandWords(command, env) });
  const [program = "", ...args] = part.command;
  const { code, output, error } = await runProgram(program, args, {
    env: part.env,
    cwd: part.directory,
    timeoutMs,
    signal,
    ownGroup: true,
    maxOutputBytes: 4096,
    lastOutputMs: 100,
  });
  if (code === 0) return undefined;
  if (error !== undefined) return errorMessage(error);
  const last = output.trim().split("\n").at(-1) ?? "";
  const end = code === null ? `no end within ${timeoutMs} ms` : `exit code ${code}`;
  return last === "" ? end : `${end}: ${last.slice(0, MAX_REASON)}`;
}
