import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "../base/coded-error.ts";
import { wait } from "../base/wait.ts";
import { SETTLED_MS } from "./file-stamp.ts";
import type { MeshParts } from "./mesh-parts.ts";
import type { RunningMesh } from "./running-mesh.ts";
import type { AppFiles, Say } from "./start-options.ts";
import { untilReady } from "./until-ready.ts";

export interface AppFileWatch {
  readonly appFiles: readonly AppFiles[];
  readonly running: Pick<RunningMesh, "plan">;
  readonly parts: Pick<MeshParts, "find" | "status" | "workloadObstacle">;
  readonly say: Say;
}

const POLL_MS = 500;
/** The next replica is not restarted before the last one is back, unless it takes this long. */
const READY_MS = 10_000;
/** What tools write by themselves, and what is not edited by hand. */
const LEFT_OUT = /^(\..*|node_modules|__pycache__|target|.*~|.*\.(log|swp|tmp))$/;
/** More than the sources of one application have; looking at more would cost more than it brings. */
const MAX_FILES = 20_000;

/** Restarts applications when their files change, replicas one after the other. */
export function watchAppFiles({ appFiles, running, parts, say }: AppFileWatch): { stop(): Promise<void> } {
  const ending = new AbortController();
  const { signal } = ending;
  const watched = appFiles.map((files) => ({ ...files, seen: lookAt(files.paths).stamp }));
  const restart = async (name: string) => {
    for (const workload of running.plan.workloads.filter((each) => each.name === name || each.service === name)) {
      // One that somebody has stopped stays so.
      if (signal.aborted || parts.status(`${workload.name}/app`).phase === "stopped") continue;
      const part = parts.find(`${workload.name}/app`);
      await part.stop();
      part.start();
      await untilReady([() => parts.workloadObstacle(workload)], { limitMs: READY_MS, signal });
    }
  };
  const run = async () => {
    while (!signal.aborted) {
      await wait(POLL_MS, signal);
      for (const each of watched) {
        const { stamp, newest } = lookAt(each.paths);
        if (signal.aborted || stamp === each.seen || Date.now() - newest < SETTLED_MS) continue;
        each.seen = stamp;
        say("info", `files of ${each.name} have changed: restarting it`);
        await restart(each.name).catch((thrown: unknown) => say("error", errorMessage(thrown)));
      }
    }
  };
  const loop = run();
  return {
    async stop() {
      ending.abort();
      await loop;
    },
  };
}

/** Equal as long as no file is added, changed or removed. */
function lookAt(paths: readonly string[]): { readonly stamp: string; readonly newest: number } {
  const stamps: string[] = [];
  let newest = 0;
  const visit = (path: string) => {
    if (stamps.length >= MAX_FILES) return;
    // It may go at any moment: that is a change as well.
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return;
    if (found.isDirectory()) {
      for (const name of namesIn(path)) if (!LEFT_OUT.test(name)) visit(join(path, name));
      return;
    }
    newest = Math.max(newest, found.mtimeMs);
    stamps.push(`${path} ${found.mtimeMs} ${found.size} ${found.ino}`);
  };
  for (const path of paths) visit(path);
  return { stamp: stamps.join("\n"), newest };
}

function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path).sort();
  } catch {
    return [];
  }
}
