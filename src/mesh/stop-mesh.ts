import { errorCode } from "../base/coded-error.ts";
import { wait } from "../base/wait.ts";
import { isAlive } from "../process/process-identity.ts";
import { MeshError } from "./mesh-error.ts";
import { lockFolder } from "./state/lock.ts";
import { readState } from "./state/mesh-state.ts";
import type { StateFolder } from "./state/state-folder.ts";
import { type TornDown, tearDown } from "./tear-down.ts";

/** An orderly stop takes a few seconds; after this `mesh up` is taken for stuck. */
const ORDERLY_MS = 20_000;

export type StoppedMesh = { readonly how: "orderly" } | ({ readonly how: "by-state" } & TornDown);

/** Ends a mesh: asks its `mesh up` to, and cleans by its state where that is gone, stuck or was killed. */
export async function stopMesh(folder: StateFolder): Promise<StoppedMesh> {
  const state = readState(folder.stateFile);
  if (state === undefined) throw new MeshError("not-running", `no mesh runs in ${folder.path}`);
  if (isAlive(state.parent)) {
    signal(state.parent.pid, "SIGTERM");
    const deadline = Date.now() + ORDERLY_MS;
    while (isAlive(state.parent) && Date.now() < deadline) await wait(50);
    if (!isAlive(state.parent) && readState(folder.stateFile) === undefined) return { how: "orderly" };
    if (isAlive(state.parent)) signal(state.parent.pid, "SIGKILL");
    while (isAlive(state.parent)) await wait(20);
  }
  // It must not be started again in the middle. A full disk must not keep the cleaning back: then it goes on without.
  const lock = tryLock(folder.lockFile);
  try {
    return { how: "by-state", ...(await tearDown(folder, readState(folder.stateFile) ?? state)) };
  } finally {
    lock?.release();
  }
}

function tryLock(path: string): { release(): void } | undefined {
  try {
    return lockFolder(path);
  } catch (thrown) {
    if (thrown instanceof MeshError && thrown.code === "already-running") throw thrown;
    return undefined;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (thrown) {
    if (errorCode(thrown) === "EPERM")
      throw new MeshError("state", `process ${pid} belongs to another user; run this as that user`);
  }
}
