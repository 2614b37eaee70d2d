import { createInterface } from "node:readline";
import { errorMessage } from "../base/coded-error.ts";
import type { GraphEdge, GraphSnapshot } from "../console/index.ts";
import { HttpError } from "../net/http-client/http-error.ts";
import { httpRequest, openHttp } from "../net/http-client/http-request.ts";
import { isAlive } from "../process/process-identity.ts";
import type { FileRequest } from "./apply-mesh-file.ts";
import type { ObjectAnswer, ObjectRequest } from "./apply-objects.ts";
import { MeshError } from "./mesh-error.ts";
import type { MeshStatus } from "./mesh-status.ts";
import type { FileStep } from "./start-control-server.ts";
import { type MeshState, readState } from "./state/mesh-state.ts";
import type { StateFolder } from "./state/state-folder.ts";

const ANSWER_MS = 20_000;
/** Longer than a proxy takes to come back to the control plane. */
const IN_FORCE_MS = 60_000;

/** The state of a mesh whose `mesh up` is alive. */
export function runningState(folder: StateFolder): MeshState {
  const state = readState(folder.stateFile);
  if (state === undefined) throw new MeshError("not-running", `no mesh runs in ${folder.path}`);
  if (!isAlive(state.parent)) {
    throw new MeshError(
      "not-running",
      `mesh up of ${state.name} has ended without cleaning up; pilot-agent mesh down does it`,
    );
  }
  return state;
}

export function askStatus(state: MeshState): Promise<MeshStatus> {
  return ask(state, "GET", "/status") as Promise<MeshStatus>;
}

/** Stops, starts or kills a part: `control-plane`, `WORKLOAD/app`, `WORKLOAD/agent`, and to kill also `WORKLOAD/envoy`. */
export async function actOnPart(
  state: MeshState,
  part: string,
  action: "stop" | "start" | "kill",
): Promise<number | undefined> {
  const done = (await ask(state, "POST", `/parts/${encodeURIComponent(part)}?do=${action}`)) as {
    readonly killed?: number;
  };
  return done.killed;
}

/** Applies Istio objects, or takes them back; resolves when that is in force, or with who does not follow. */
export async function sendObjects(state: MeshState, request: ObjectRequest): Promise<ObjectAnswer> {
  return (await ask(state, "POST", "/objects", JSON.stringify(request), IN_FORCE_MS)) as ObjectAnswer;
}

/** Applies a mesh file and passes every step on as it is made. Resolves with what is not as it should be afterwards. */
export async function applyMeshFile(
  state: MeshState,
  file: FileRequest,
  onStep: (level: "info" | "warn" | "error", text: string) => void,
): Promise<readonly string[]> {
  try {
    const { body } = await openHttp({ ...controlOf(state, "/file"), method: "POST", body: JSON.stringify(file) });
    for await (const line of createInterface({ input: body })) {
      const step = JSON.parse(line) as FileStep;
      if ("error" in step) throw new MeshError("invalid-file", step.error);
      if ("done" in step) return step.done;
      onStep(step.level, step.text);
    }
  } catch (thrown) {
    throw thrown instanceof MeshError ? thrown : unanswered(state, unansweredText(thrown));
  }
  throw unanswered(state, "it has ended");
}

/** What flows between services, as the console shows it. */
export type TrafficGraph = GraphSnapshot;
export type TrafficEdge = GraphEdge;

/** Passes the figures of all edges on, every two seconds until the signal. */
export async function askTraffic(
  state: MeshState,
  signal: AbortSignal,
  onGraph: (graph: TrafficGraph) => void,
): Promise<void> {
  try {
    const { status, body } = await openHttp({ ...controlOf(state, "/traffic"), method: "GET", signal });
    if (status !== 200) throw unanswered(state, `it answers ${status}; it runs an older version of this program`);
    signal.addEventListener("abort", () => body.destroy(), { once: true });
    for await (const line of createInterface({ input: body })) {
      onGraph(JSON.parse(line) as TrafficGraph);
      if (signal.aborted) return;
    }
  } catch (thrown) {
    if (signal.aborted) return;
    throw thrown instanceof MeshError ? thrown : unanswered(state, unansweredText(thrown));
  }
  if (!signal.aborted) throw unanswered(state, "it has ended");
}

/** Its socket is the last thing that a mesh makes and the first that it takes away. */
function unansweredText(thrown: unknown, timeoutMs = ANSWER_MS): string {
  if (!(thrown instanceof HttpError)) return errorMessage(thrown);
  if (thrown.code === "timeout") return `no answer within ${timeoutMs / 1000} s`;
  return thrown.dial?.code === "ENOENT" ? "it is still starting, or ending" : thrown.reason;
}

async function ask(
  state: MeshState,
  method: string,
  path: string,
  sent?: string,
  timeoutMs = ANSWER_MS,
): Promise<unknown> {
  const request = {
    ...controlOf(state, path),
    method,
    timeoutMs,
    ...(sent === undefined ? {} : { body: sent }),
  };
  const { status, body } = await httpRequest(request).catch((thrown: unknown) => {
    throw unanswered(state, unansweredText(thrown, timeoutMs));
  });
  const answer = parseAnswer(body);
  if (answer === undefined) throw unanswered(state, body);
  if (status === 200) return answer;
  throw new MeshError("unknown-part", answer.error ?? body);
}

function controlOf({ controlSocket }: MeshState, path: string) {
  return { url: `http://localhost${path}`, socketPath: controlSocket, maxBytes: Number.POSITIVE_INFINITY };
}

function parseAnswer(text: string): { readonly error?: string } | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unanswered({ name }: MeshState, why: string): MeshError {
  return new MeshError("not-running", `mesh ${name} does not answer: ${why}`);
}
