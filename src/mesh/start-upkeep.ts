import { closeSync, openSync, readdirSync, readSync, statfsSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { msToNextTick } from "../base/aligned-interval.ts";
import { errorMessage } from "../base/coded-error.ts";
import { wait } from "../base/wait.ts";
import { readTextLimitedSync } from "../files/read-file-sync.ts";
import type { FileRequest } from "./apply-mesh-file.ts";
import type { ConfigFiles } from "./config-files.ts";
import type { MeshFile } from "./core/mesh-file.ts";
import { parseMeshFile, problemText } from "./core/parse-mesh-file.ts";
import { SETTLED_MS, stampOf } from "./file-stamp.ts";
import { writeServices } from "./follow-logs.ts";
import { TOKEN_SECONDS } from "./prepare-folders.ts";
import { moveTimes } from "./process/log-times.ts";
import type { RunningMesh } from "./running-mesh.ts";
import type { Say } from "./start-options.ts";
import type { StateFolder } from "./state/state-folder.ts";
import { surroundings } from "./surroundings.ts";

const MAX_BYTES = 16 * 1024 * 1024;
/** Less room than this and old log lines go, so that agents can still write keys and configuration. */
const MIN_FREE_BYTES = 4 * 1024 * 1024;

export interface UpkeepOptions {
  readonly running: RunningMesh;
  readonly folder: StateFolder;
  readonly config: ConfigFiles;
  /** New tokens for all workloads. */
  renewTokens(): Promise<void>;
  /** Set: changed services are applied at once. Rejects, with nothing changed, for a file that cannot be. */
  applyFile?(request: FileRequest): Promise<readonly string[]>;
  /** Other checks that run as often. */
  tend(): Promise<void>;
  readonly say: Say;
}

/** As often as logs are read, and at the same moments. */
const POLL_MS = 250;
const LOGS_EVERY_MS = 5000;
const TOKENS_EVERY_MS = (TOKEN_SECONDS * 1000) / 3;

/** What has to be looked after while a mesh runs: changed files, tokens, the size of logs. */
export function startUpkeep(options: UpkeepOptions): { problems(): readonly string[]; stop(): Promise<void> } {
  const { running: mesh, config, folder, say } = options;
  const ending = new AbortController();
  const watched = createFileWatch(options);
  let shown: readonly string[] = [];
  const guard = async (work: () => void | Promise<void>) => {
    try {
      await work();
    } catch (thrown) {
      say("error", errorMessage(thrown));
    }
  };
  let recorded: RunningMesh["plan"] | undefined;
  const look = async () => {
    if (mesh.plan !== recorded) writeServices(folder.logs, mesh.plan);
    recorded = mesh.plan;
    const problems = [...(await watched()), ...config.mirror(rulesFolder(mesh))];
    for (const problem of problems)
      if (!shown.includes(problem)) say("error", `${problem} (the last good configuration stays)`);
    if (problems.length === 0 && shown.length > 0) say("info", "the configuration is good again");
    shown = problems;
  };
  const run = async () => {
    let [logsAt, tokensAt] = [Date.now() + LOGS_EVERY_MS, Date.now() + TOKENS_EVERY_MS];
    while (!ending.signal.aborted) {
      await wait(msToNextTick(POLL_MS, performance.now()), ending.signal);
      if (ending.signal.aborted) return;
      await guard(look);
      await guard(options.tend);
      if (Date.now() >= logsAt) {
        logsAt = Date.now() + LOGS_EVERY_MS;
        await guard(() => limitLogs(folder.logs, say));
      }
      if (Date.now() >= tokensAt) {
        tokensAt = Date.now() + TOKENS_EVERY_MS;
        await guard(options.renewTokens);
      }
    }
  };
  const running = run();
  return {
    problems: () => shown,
    async stop() {
      ending.abort();
      await running;
    },
  };
}

/** The user's folder of Istio objects. */
export function rulesFolder({ file, directory }: Pick<RunningMesh, "file" | "directory">): string | undefined {
  return file.configDir === undefined ? undefined : resolve(directory, file.configDir);
}

/** Objects of the mesh file change at once; its services when they are applied, which is said. */
function createFileWatch(options: UpkeepOptions): () => Promise<readonly string[]> {
  const { running } = options;
  let [applied, stamp] = [running.file, stampAt(running.watchedFile)];
  let problems: readonly string[] = [];
  return async () => {
    const { watchedFile } = running;
    if (watchedFile === undefined) return problems;
    const found = stampOf(watchedFile);
    if ((found.text === stamp && running.file === applied) || found.ageMs < SETTLED_MS) return problems;
    stamp = found.text;
    problems = await takeOver(options, watchedFile);
    applied = running.file;
    return problems;
  };
}

function stampAt(path: string | undefined): string {
  return path === undefined ? "" : stampOf(path).text;
}

async function takeOver({ running, config, applyFile, say }: UpkeepOptions, path: string): Promise<readonly string[]> {
  const { file, fileName, variables } = running;
  let text: string;
  try {
    text = readTextLimitedSync(path);
  } catch (thrown) {
    return [`${fileName}: ${errorMessage(thrown)}`];
  }
  const parsed = parseMeshFile(text, surroundings(dirname(path), variables));
  if ("problems" in parsed) return parsed.problems.map((problem) => problemText(problem, fileName));
  const isSame = isDeepStrictEqual(withoutPositions(file), withoutPositions(parsed.file));
  if (isSame || applyFile === undefined) {
    const wrong = config.writeInline(parsed.file.config, fileName);
    if (wrong.length > 0 || isSame) return wrong;
    return [`${fileName}: services have changed; pilot-agent mesh apply -f ${fileName} takes them over`];
  }
  say("info", `${fileName} has changed: applying it`);
  try {
    const problems = await applyFile({ text, fileName, path, isDryRun: false });
    if (problems.length === 0) say("info", `the mesh is as ${fileName} says`);
    return problems;
  } catch (thrown) {
    return errorMessage(thrown).split("\n");
  }
}

/** Where something stands in the file makes no difference, and the name may have been given on the command line. */
function withoutPositions({ services, namespace, mtls, configDir }: MeshFile): unknown {
  const plain = services.map((service) => ({
    ...service,
    versions: service.versions.map((kind) => ({ ...kind, position: null })),
  }));
  return { services: plain, namespace, mtls, configDir };
}

/** Files are written in append mode, so cutting them off does not disturb the writer. One earlier file stays beside each. */
export function limitLogs(folder: string, say: Say, maxBytes = MAX_BYTES): void {
  const isFull = freeBytes(folder) < MIN_FREE_BYTES;
  let cut = 0;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (!/\.log(\.1)?$/.test(name)) continue;
    const isOld = name.endsWith(".1");
    // A workload may be taken away at this moment, and its log with it.
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (isFull && size > 0) {
      truncateSync(path);
      cut += 1;
    } else if (!isOld && size > maxBytes) {
      keepEnd(path, `${path}.1`, { size, maxBytes: 2 * maxBytes });
      moveTimes(path, `${path}.1`, Math.max(0, size - 2 * maxBytes));
      truncateSync(path);
    }
  }
  if (cut > 0) say("warn", `the disk of ${folder} is full; logs were cut off to go on`);
}

/** Of somebody who has written gigabytes since the last look only the end is copied: all of it would fill the disk, and take seconds. */
function keepEnd(path: string, copy: string, { size, maxBytes }: { size: number; maxBytes: number }): void {
  const file = openSync(path, "r");
  try {
    const end = Buffer.alloc(Math.min(size, maxBytes));
    const read = readSync(file, end, 0, end.length, size - end.length);
    writeFileSync(copy, end.subarray(0, read));
  } finally {
    closeSync(file);
  }
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
