import { randomBytes } from "node:crypto";
import { chmodSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import { openDevelopmentIssuer } from "../ca/index.ts";
import { makeProxyDirectory } from "../files/proxy-file.ts";
import { identifyProcess } from "../process/process-identity.ts";
import { runProgram } from "../process/run-program.ts";
import { createFileApplier } from "./apply-mesh-file.ts";
import { CONTROL_PLANE, controlPlanePart, type PartInputs } from "./build-parts.ts";
import { checkCommands } from "./check-commands.ts";
import { createConfigFiles } from "./config-files.ts";
import { buildIstioObjects } from "./core/istio-objects.ts";
import type { Isolation, MeshPlan } from "./core/mesh-plan.ts";
import { meshConfigText } from "./core/part-commands.ts";
import { namespaceNetwork, SLOTS } from "./core/plan-addresses.ts";
import { planMesh, planObstacle, portObstacle, portsNeeded } from "./core/plan-mesh.ts";
import { checkAddresses } from "./isolation/check-addresses.ts";
import { chooseIsolation } from "./isolation/choose-isolation.ts";
import { createHub, isNetworkTaken, PROXY_UID } from "./isolation/namespaces.ts";
import { startNameServer } from "./isolation/start-name-server.ts";
import { startRelays } from "./isolation/start-relays.ts";
import { MeshError } from "./mesh-error.ts";
import { createMeshParts, type MeshParts } from "./mesh-parts.ts";
import { type MeshStatus, readMeshStatus } from "./mesh-status.ts";
import { prepareFolders, refuseForeignFolder } from "./prepare-folders.ts";
import { closeListener, findFreePorts, listen } from "./process/free-ports.ts";
import { isPublic, sharedProgram } from "./process/shared-program.ts";
import type { RunningMesh } from "./running-mesh.ts";
import { startControlServer } from "./start-control-server.ts";
import type { StartMeshOptions } from "./start-options.ts";
import { rulesFolder, startUpkeep } from "./start-upkeep.ts";
import { lockFolder } from "./state/lock.ts";
import { createStateRecord, readState, type StateRecord } from "./state/mesh-state.ts";
import { stateFolder } from "./state/state-folder.ts";
import { tearDown } from "./tear-down.ts";
import { untilReady } from "./until-ready.ts";
import { createWorkloadLife } from "./workload-life.ts";

const CLAIM_PORT = 15_999;

export interface Mesh extends Handle {
  readonly plan: MeshPlan;
  readonly parts: MeshParts;
  status(): Promise<MeshStatus>;
  /** Resolves with what is not ready when the time is over; empty when all is. */
  untilReady(limitMs: number): Promise<readonly string[]>;
}

/** Builds and supervises a whole mesh on this machine. A failed start leaves nothing behind; `stop` neither. */
export async function startMesh(options: StartMeshOptions): Promise<Mesh> {
  const { file, say, signal } = options;
  const folder = stateFolder(options.stateFolder);
  const obstacle = planObstacle(file);
  if (obstacle !== undefined) throw new MeshError("invalid-file", obstacle);
  checkCommands(options);

  await using opened = new CloseStack();
  refuseForeignFolder(folder);
  await makeStateFolder(folder.path);
  const lock = lockFolder(folder.lockFile);
  opened.defer(() => lock.release());
  const left = readState(folder.stateFile);
  if (left !== undefined) {
    say("warn", "the last run of this mesh was cut off; removing what it left");
    const { problems } = await tearDown(folder, left);
    // The new run's state replaces the old one, which alone knows of what is left.
    if (problems.length > 0) throw new MeshError("state", `${problems.join("\n")}\npilot-agent mesh down tries again`);
  }
  const { isolation, why } = options.proxyless
    ? { isolation: "none" as const, why: "there is no Envoy to capture traffic for" }
    : await chooseIsolation(options.isolation, options.isRoot);
  say("info", `isolation: ${describe[isolation]} (${why})`);
  const taken = portObstacle(file, isolation);
  if (taken !== undefined) throw new MeshError("invalid-file", taken);
  if (isolation === "namespaces" && !isPublic(folder.path)) {
    const text = `${folder.path} cannot be entered by user ${PROXY_UID}, which agents run as; choose another --state-dir`;
    throw new MeshError("state", text);
  }
  const claim = opened.add(toClosable(await claimSlot(file.name, isolation)));
  const ports = isolation === "none" ? await findFreePorts(portsNeeded(file), claim.slot) : [];
  const plan = planMesh(file, { isolation, slot: claim.slot, ports, proxyless: options.proxyless ?? false });
  if (isolation === "none") await checkAddresses(plan);

  const state = createState(options, folder.stateFile, plan);
  opened.defer(async () => {
    const { problems } = await tearDown(folder, state.current);
    for (const problem of problems) say("error", problem);
  });
  writeFileSync(folder.meshConfig, meshConfigText());
  prepareFolders(folder);
  const config = createConfigFiles({ target: folder.config, validate: options.validate });
  config.writeGenerated(buildIstioObjects(plan, file.mtls));
  const wrong = config.writeInline(file.config, options.fileName);
  if (wrong.length > 0) throw new MeshError("invalid-file", wrong.join("\n"));
  for (const problem of config.mirror(rulesFolder(options))) say("error", problem);

  const { fileName, directory, watchedFile } = options;
  const running: RunningMesh = { plan, file, fileName, directory, watchedFile, aside: new Set() };
  const inputs = await partInputs(options, running, state);
  const parts = opened.add(createMeshParts(state, say));
  const issuer = await openDevelopmentIssuer(folder.ca);
  const life = createWorkloadLife({ inputs, folder, parts, state, issuer, signal });
  if (plan.network !== undefined) {
    await createHub(plan, plan.network, state);
    opened.add(await startNameServer(plan.network));
  }
  const relays = plan.network === undefined ? undefined : opened.add(await startRelays(plan));
  await life.prepare(plan, plan.workloads);
  parts.add(controlPlanePart(inputs(plan)));
  // The capture takes as long as the control plane's start: both at once.
  await Promise.all([
    untilReady([() => parts.controlPlaneObstacle(plan)], { limitMs: 30_000, signal }).then(([reason]) => {
      if (signal.aborted) throw new MeshError("start", "interrupted");
      if (reason !== undefined)
        throw new MeshError("start", `the control plane does not start: ${reason} (see ${folder.log(CONTROL_PLANE)})`);
    }),
    life.capture(plan.workloads),
  ]);
  await life.identify(plan, plan.workloads);
  await Promise.all(plan.workloads.map((workload) => life.start(plan, workload)));

  const { slot } = claim;
  const { env } = options;
  const files = opened.add(createFileApplier({ running, parts, life, config, state, relays, slot, env, say, signal }));
  const renewTokens = () => life.identify(running.plan, running.plan.workloads);
  const upkeep = opened.add(startUpkeep({ running, folder, config, renewTokens, tend: files.tend, say }));
  const status = () => readMeshStatus({ plan: running.plan, parts, folder, state, problems: upkeep.problems() });
  opened.add(await startControlServer({ path: state.current.controlSocket, parts, status, files }));

  const owned = opened.move();
  return toHandle({
    plan,
    parts,
    status,
    untilReady: (limitMs: number) =>
      untilReady(
        plan.workloads.map((workload) => () => parts.workloadObstacle(workload)),
        { limitMs, signal },
      ),
    // Parts are restarted after any failure: a mesh does not end by itself.
    ended: new Promise<void>(() => undefined),
    stop: () => owned.close(),
  });
}

/** The same for every plan of this run. */
async function partInputs(
  options: StartMeshOptions,
  running: RunningMesh,
  state: StateRecord,
): Promise<(plan: MeshPlan) => PartInputs> {
  const { program, env } = options;
  const folder = stateFolder(options.stateFolder);
  const isLoose = running.plan.isolation === "none";
  const same = {
    folder,
    runId: state.current.runId,
    own: program,
    shared: isLoose ? program : sharedProgram(program, join(folder.path, "program")),
    env,
    appUser: isLoose ? undefined : options.appUser,
    hasSetpriv: (await runProgram("setpriv", ["--pdeathsig", "TERM", "true"])).code === 0,
  };
  return (plan) => ({ ...same, plan, directory: running.directory });
}

async function makeStateFolder(path: string): Promise<void> {
  try {
    await makeProxyDirectory(path, { access: "shared" });
    chmodSync(path, 0o755);
  } catch (thrown) {
    throw new MeshError("state", `cannot make the state folder: ${errorMessage(thrown)}`, { cause: thrown });
  }
}

const describe = {
  namespaces: "a network namespace per workload, traffic and DNS captured",
  none: "no capture, a loopback address per caller and service",
} as const;

function createState({ file, program }: StartMeshOptions, path: string, plan: MeshPlan): StateRecord {
  const parent = identifyProcess(process.pid);
  if (parent === undefined) throw new MeshError("state", "this process cannot be identified");
  const runId = randomBytes(8).toString("hex");
  return createStateRecord(path, {
    format: 1,
    runId,
    name: file.name,
    startedAt: new Date().toISOString(),
    parent,
    // Not in the state folder, whose path may be longer than the 107 bytes that a socket's may have.
    controlSocket: join(tmpdir(), `pilot-agent-mesh-${runId}.sock`),
    program: { launcher: program.launcher, node: program.node },
    plan,
    namespaces: [],
    interfaces: [],
    resolverFolders: [],
    processes: {},
  });
}

function toClosable<Claim extends { release(): Promise<void> }>(claim: Claim): Claim & { close(): Promise<void> } {
  return { ...claim, close: () => claim.release() };
}

/** A network of the machine that this process has to itself. */
interface SlotClaim {
  readonly slot: number;
  release(): Promise<void>;
}

/**
 * Meshes agree by a port on a loopback address of the slot: only one can listen there, and the kernel frees it with any end of
 * the process. A mesh tries the same slot first every time, so that its addresses stay.
 */
export async function claimSlot(name: string, isolation: Isolation): Promise<SlotClaim> {
  const first = [...name].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % SLOTS, 7);
  for (let tries = 0; tries < SLOTS; tries += 1) {
    const slot = (first + tries) % SLOTS;
    const claim = await listen(CLAIM_PORT, `127.${64 + slot}.255.254`).catch(() => undefined);
    if (claim === undefined) continue;
    // No message is expected here, and a client that stayed connected would keep the mesh from ending.
    claim.on("connection", (socket) => socket.destroy());
    const release = () => closeListener(claim);
    // What a killed mesh left behind is its own to remove.
    if (isolation === "namespaces" && isNetworkTaken(namespaceNetwork(slot).plan)) {
      await release();
      continue;
    }
    claim.unref();
    return { slot, release };
  }
  throw new MeshError("address-taken", `all ${SLOTS} networks for meshes on this machine are taken`);
}
