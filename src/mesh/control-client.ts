import { request } from "node:http";
import { createInterface } from "node:readline";
import { errorCode, errorMessage } from "../base/coded-error.ts";
import type { FileRequest } from "./apply-mesh-file.ts";
import { MeshError } from "./mesh-error.ts";
import type { MeshStatus } from "./mesh-status.ts";
import type { FileStep } from "./start-control-server.ts";
import { type MeshState, readState } from "./state/mesh-state.ts";
import { isAlive } from "./state/process-identity.ts";
import type { StateFolder } from "./state/state-folder.ts";

const ANSWER_MS = 20_000;

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

/** Applies a mesh file and passes every step on as it is made. Resolves with what is not as it should be afterwards. */
export function applyMeshFile(
  { controlSocket: socketPath, name }: MeshState,
  file: FileRequest,
  onStep: (level: "info" | "warn" | "error", text: string) => void,
): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new MeshError("not-running", `mesh ${name} does not answer: ${why}`));
    const asked = request({ socketPath, method: "POST", path: "/file", agent: false }, async (response) => {
      try {
        for await (const line of createInterface({ input: response })) {
          const step = JSON.parse(line) as FileStep;
          if ("error" in step) return reject(new MeshError("invalid-file", step.error));
          if ("done" in step) return resolve(step.done);
          onStep(step.level, step.text);
        }
        fail("it has ended");
      } catch (thrown) {
        fail(errorMessage(thrown));
      }
    });
    asked.on("error", (thrown) => fail(unansweredText(thrown)));
    asked.end(JSON.stringify(file));
  });
}

/** Its socket is the last thing that a mesh makes and the first that it takes away. */
function unansweredText(thrown: unknown): string {
  return errorCode(thrown) === "ENOENT" ? "it is still starting, or ending" : errorMessage(thrown);
}

function ask({ controlSocket, name }: MeshState, method: string, path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new MeshError("not-running", `mesh ${name} does not answer: ${why}`));
    const asked = request({ socketPath: controlSocket, method, path, timeout: ANSWER_MS, agent: false }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on("error", (thrown) => fail(errorMessage(thrown)));
      response.on("end", () => {
        try {
          const body = JSON.parse(text) as { readonly error?: string };
          if (response.statusCode === 200) resolve(body);
          else reject(new MeshError("unknown-part", body.error ?? text));
        } catch {
          fail(text);
        }
      });
    });
    asked.on("timeout", () => asked.destroy(new Error(`no answer within ${ANSWER_MS / 1000} s`)));
    asked.on("error", (thrown) => fail(unansweredText(thrown)));
    asked.end();
  });
}
