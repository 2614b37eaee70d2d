import { dirname } from "node:path";
import { admitReady, type ChangeMeshOptions, changeMesh, changesOf } from "./change-mesh.ts";
import { checkCommands } from "./check-commands.ts";
import type { ConfigFiles } from "./config-files.ts";
import { fixedObstacle } from "./core/fixed-obstacle.ts";
import { formatChanges } from "./core/mesh-changes.ts";
import type { MeshFile } from "./core/mesh-file.ts";
import type { MeshPlan } from "./core/mesh-plan.ts";
import { parseMeshFile, problemText } from "./core/parse-mesh-file.ts";
import { planMesh, planObstacle, portObstacle, portsNeeded } from "./core/plan-mesh.ts";
import { checkAddresses } from "./isolation/check-addresses.ts";
import { MeshError } from "./mesh-error.ts";
import { findFreePorts } from "./process/free-ports.ts";
import type { Say, StartMeshOptions } from "./start-options.ts";
import { surroundings } from "./surroundings.ts";
import { untilInForce } from "./until-in-force.ts";
import { untilReady } from "./until-ready.ts";

/** A mesh file as the caller has read it. */
export interface FileRequest {
  readonly text: string;
  /** For messages. */
  readonly fileName: string;
  /** Absolute. */
  readonly path: string;
  /** Says what would happen, and nothing does. */
  readonly isDryRun: boolean;
  /** That the caller takes for granted; another one cannot be had. */
  readonly isolation?: string;
  /** What `${NAME}` in the file stands for; as before when absent. */
  readonly variables?: StartMeshOptions["env"];
}

export interface FileApplier {
  /** Resolves with what is not as it should be afterwards. Rejects, with nothing changed, for a file that cannot be applied. */
  apply(request: FileRequest, report: Say): Promise<readonly string[]>;
  /** Lets workloads be called that were not ready in time and are now. Not while a file is being applied: some stand aside to end. */
  tend(): Promise<void>;
  /** Waits for what is at work; the mesh's signal ends it between two steps. */
  stop(): Promise<void>;
}

export interface FileApplierOptions extends Omit<ChangeMeshOptions, "report"> {
  readonly config: ConfigFiles;
  readonly slot: number;
  readonly env: StartMeshOptions["env"];
  readonly say: Say;
}

export function createFileApplier(options: FileApplierOptions): FileApplier {
  let current: Promise<readonly string[]> | undefined;
  return {
    async apply(request, report) {
      if (current !== undefined) throw new MeshError("already-running", "another mesh apply is at work; wait for it");
      current = applyFile(options, request, report).finally(() => {
        current = undefined;
      });
      return current;
    },
    async tend() {
      if (current === undefined) await admitReady(options);
    },
    async stop() {
      await current?.catch(() => undefined);
    },
  };
}

async function applyFile(options: FileApplierOptions, request: FileRequest, report: Say): Promise<readonly string[]> {
  const { running, parts, config, say } = options;
  const { fileName, path, isDryRun } = request;
  const directory = dirname(path);
  const file = checkedFile(options, request);
  checkCommands({ file, fileName, directory, env: options.env });
  const wrong = config.checkInline(file.config, fileName);
  if (wrong.length > 0) throw new MeshError("invalid-file", wrong.join("\n"));
  const after = await planAfter(options, file);
  for (const notice of file.notices) report("warn", problemText(notice, fileName));
  const mtls = running.file.mtls === file.mtls ? "" : `  mtls ${running.file.mtls} becomes ${file.mtls}\n`;
  report("info", `${mtls}${formatChanges(changesOf(options, after))}`.trimEnd());
  if (isDryRun) return [];
  const ask = () => parts.controlPlaneObstacle(running.plan);
  const [obstacle] = await untilReady([ask], { limitMs: CONTROL_PLANE_MS, signal: options.signal });
  if (obstacle !== undefined) throw new MeshError("start", `the control plane is not ready: ${obstacle}`);
  config.writeInline(file.config, fileName);
  const { variables = running.variables } = request;
  Object.assign(running, { file, fileName, directory, watchedFile: path, variables });
  options.state.update({ source: { path, fileName, directory } });
  const both: Say = (level, text) => {
    if (report !== say) report(level, text);
    say(level, text);
  };
  const problems = await changeMesh({ ...options, report: both }, after);
  const { plan } = running;
  const inForce = { plan, parts, controlPlane: options.doors.controlPlane(), signal: options.signal };
  return [...problems, ...(await untilInForce({ objects: [], isDelete: false }, inForce))];
}

/** It may have been killed a moment ago. */
const CONTROL_PLANE_MS = 10_000;

/** What cannot change while a mesh runs is an error that says what to do. */
function checkedFile({ running }: FileApplierOptions, request: FileRequest): MeshFile {
  const { text, fileName, path } = request;
  const parsed = parseMeshFile(text, surroundings(dirname(path), request.variables ?? running.variables));
  if ("problems" in parsed) {
    throw new MeshError("invalid-file", parsed.problems.map((problem) => problemText(problem, fileName)).join("\n"));
  }
  const { plan } = running;
  const obstacle =
    fixedObstacle(plan, parsed.file, request) ?? planObstacle(parsed.file) ?? portObstacle(parsed.file, plan.isolation);
  if (obstacle !== undefined) throw new MeshError("invalid-file", obstacle);
  return { ...parsed.file, name: plan.name };
}

/** Numbers above this have no address of their own. */
const MAX_NUMBER = 240;

async function planAfter({ running, slot }: FileApplierOptions, file: MeshFile): Promise<MeshPlan> {
  const { plan: before } = running;
  const { isolation } = before;
  const promised = before.workloads.flatMap(({ ports, listens }) => [
    ...Object.values(ports),
    ...listens.map(({ appPort }) => appPort),
  ]);
  const ports =
    isolation === "none" ? await findFreePorts(portsNeeded(file, before), slot, new Set<number>(promised)) : [];
  const after = planMesh(file, {
    isolation,
    slot,
    ports,
    before,
    rootlessFolder: before.network?.rootless ? before.network.resolvers : undefined,
  });
  if ([...after.workloads, ...after.services].some(({ number }) => number > MAX_NUMBER))
    throw new MeshError(
      "invalid-file",
      "too much changes at once; apply it in two steps, or use mesh down and mesh up",
    );
  if (isolation === "none") await checkAddresses(after, before);
  return after;
}
