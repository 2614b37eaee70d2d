import { randomBytes } from "node:crypto";
import { chmodSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CloseStack } from "../base/close-stack.ts";
import { errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import { openDevelopmentIssuer } from "../ca/index.ts";
import { makeProxyDirectory } from "../files/proxy-file.ts";
import { identifyProcess } from "../process/process-identity.ts";
import { runProgram } from "../process/run-program.ts";
import { removeAbandoned } from "./abandoned-runs.ts";
import { createFileApplier, type FileRequest } from "./apply-mesh-file.ts";
import { CONTROL_PLANE, controlPlanePart, type PartInputs } from "./build-parts.ts";
import { checkCommands } from "./check-commands.ts";
import { createConfigFiles } from "./config-files.ts";
import type { MeshSourcesOptions } from "./console/mesh-sources.ts";
import type { TrafficWatch } from "./console/watch-traffic.ts";
import { buildIstioObjects } from "./core/istio-objects.ts";
import type { MeshPlan, Workload } from "./core/mesh-plan.ts";
import { meshConfigText } from "./core/part-commands.ts";
import { planMesh, planObstacle, portObstacle, portsNeeded } from "./core/plan-mesh.ts";
import { createObjectApplier } from "./create-object-applier.ts";
import { checkAddresses } from "./isolation/check-addresses.ts";
import { chooseIsolation } from "./isolation/choose-isolation.ts";
import { claimSlot } from "./isolation/claim-slot.ts";
import { openEgress } from "./isolation/egress.ts";
import { OWN_NETWORK } from "./isolation/machine.ts";
import { createHub, PROXY_UID } from "./isolation/namespaces.ts";
import { type Doors, startDoors } from "./isolation/start-doors.ts";
import { startNameServer } from "./isolation/start-name-server.ts";
import { startRelays } from "./isolation/start-relays.ts";
import { MeshError } from "./mesh-error.ts";
import { createMeshParts, type MeshParts } from "./mesh-parts.ts";
import { localEntries, type MeshStatus, readMeshStatus } from "./mesh-status.ts";
import { prepareFolders, refuseForeignFolder } from "./prepare-folders.ts";
import { findFreePorts } from "./process/free-ports.ts";
import { isPublic, sharedProgram } from "./process/shared-program.ts";
import type { RunningMesh } from "./running-mesh.ts";
import { startControlServer } from "./start-control-server.ts";
import { type HealthChecks, startHealthChecks } from "./start-health-checks.ts";
import type { Say, StartMeshOptions } from "./start-options.ts";
import { rulesFolder, startUpkeep } from "./start-upkeep.ts";
import { lockFolder } from "./state/lock.ts";
import { controlSocketOf, createStateRecord, readState, type StateRecord } from "./state/mesh-state.ts";
import { stateFolder } from "./state/state-folder.ts";
import { tearDown } from "./tear-down.ts";
import { untilReady } from "./until-ready.ts";
import { untilStarted } from "./until-started.ts";
import { watchAppFiles } from "./watch-app-files.ts";
import { startLogWatch } from "./watch-logs.ts";
import { watchProgress } from "./watch-progress.ts";
import { createWorkloadLife } from "./workload-life.ts";

export interface Mesh extends Handle {
  readonly plan: MeshPlan;
  readonly parts: MeshParts;
  readonly doors: Pick<Doors, "admin" | "controlPlane">;
  /** Where localhost leads to services of the mesh, by name; not all of them, as their ports may be taken. */
  entries(): Readonly<Record<string, string>>;
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
  const isRootless = options.machine !== undefined;
  if (options.isRoot && !isRootless) await clearAbandoned(dirname(folder.path), say);
  const { isolation, why } = options.proxyless
    ? { isolation: "none" as const, why: "there is no Envoy to capture traffic for" }
    : await chooseIsolation(options.isolation, options.isRoot);
  const taken = portObstacle(file, isolation);
  if (taken !== undefined) throw new MeshError("invalid-file", taken);
  const machine = options.machine ?? OWN_NETWORK;
  if (isolation === "namespaces" && !isRootless && !isPublic(folder.path)) {
    const text = `${folder.path} cannot be entered by user ${PROXY_UID}, which agents run as; choose another --state-dir`;
    throw new MeshError("state", text);
  }
  const claim = opened.add(toClosable(await claimSlot(file.name, isolation)));
  const ports = isolation === "none" ? await findFreePorts(portsNeeded(file), claim.slot) : [];
  const plan = planMesh(file, {
    isolation,
    slot: claim.slot,
    ports,
    proxyless: options.proxyless ?? false,
    rootlessFolder: isRootless ? folder.resolvers : undefined,
  });
  if (isolation === "none") await checkAddresses(plan);
  if (isolation === "none" && plan.egress === "none")
    say("warn", "egress: none has no effect without namespaces: applications share the machine's network");

  const state = createState(options, folder.stateFile, plan);
  opened.defer(async () => {
    const { problems } = await tearDown(folder, state.current);
    for (const problem of problems) say("error", problem);
  });
  writeFileSync(folder.meshConfig, meshConfigText(plan));
  prepareFolders(folder);
  const { fileName, directory, watchedFile } = options;
  // No client may call one before its health check has passed.
  const aside = new Set(plan.workloads.flatMap(({ name, healthCheck }) => (healthCheck === undefined ? [] : [name])));
  const running: RunningMesh = { plan, file, fileName, directory, watchedFile, variables: options.env, aside };
  const config = createConfigFiles({ target: folder.config, validate: options.validate, mesh: () => running.plan });
  config.writeGenerated(buildIstioObjects(plan, file.mtls, aside));
  const wrong = config.writeInline(file.config, options.fileName);
  if (wrong.length > 0) throw new MeshError("invalid-file", wrong.join("\n"));
  for (const problem of config.mirror(rulesFolder(options))) say("error", problem);

  const inputs = await partInputs(options, running, state);
  const logs = opened.add(startLogWatch({ folder, onOutput: options.onOutput, say }));
  const isShown = (part: string) => options.onOutput !== undefined && part.endsWith("/app");
  let checks: HealthChecks | undefined;
  const health = (workload: Workload) => checks?.of(workload);
  const parts = opened.add(createMeshParts(state, say, { envoy: logs.envoy, isShown, health }));
  checks = opened.add(startHealthChecks({ running, inputs, app: ({ name }) => parts.status(`${name}/app`) }));
  let problems: () => readonly string[] = () => [];
  let controlPlaneUrl: () => string | undefined = () => undefined;
  if (options.console !== undefined) {
    const { startMeshConsole } = await import("./console/start-mesh-console.ts");
    const started = await startMeshConsole({
      ...options.console,
      machine,
      running,
      parts,
      folder,
      state,
      problems: () => problems(),
      controlPlaneUrl: () => controlPlaneUrl(),
    });
    opened.add(started);
    options.console.onLink(started.link);
  }
  say("info", `isolation: ${describe[isolation]} (${why})`);
  const issuer = await openDevelopmentIssuer(folder.ca);
  const life = createWorkloadLife({ inputs, running, folder, parts, state, issuer, signal });
  if (plan.network !== undefined) {
    await createHub(plan, plan.network, state);
    const hasEgress = plan.egress !== "none" && !isRootless;
    if (isRootless && plan.egress !== "none")
      say("warn", "without root nothing leads out of the namespaces; address and endpoints of services do, by relays");
    if (hasEgress) await openEgress(plan.network, state);
    opened.add(await startNameServer(plan.network, hasEgress));
  }
  const doors = opened.add(await startDoors(plan, { node: options.program.node, runId: state.current.runId, machine }));
  controlPlaneUrl = doors.controlPlane;
  const relays = opened.add(await startRelays(plan, machine));
  await life.prepare(plan, plan.workloads);
  parts.add(controlPlanePart(inputs(plan)));
  if (options.onProgress !== undefined) opened.add(watchProgress({ running, parts, onProgress: options.onProgress }));
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
  const files = opened.add(
    createFileApplier({ running, parts, life, config, state, relays, doors, slot, env, health, say, signal }),
  );
  const renewTokens = () => life.identify(running.plan, running.plan.workloads);
  const applyFile = (request: FileRequest) => files.apply(request, say);
  const upkeep = opened.add(
    startUpkeep({
      running,
      folder,
      config,
      renewTokens,
      tend: files.tend,
      say,
      ...(options.appliesChanges ? { applyFile } : {}),
    }),
  );
  if (options.appFiles !== undefined) opened.add(watchAppFiles({ appFiles: options.appFiles, running, parts, say }));
  problems = upkeep.problems;
  const status = () => {
    const sources = { plan: running.plan, parts, folder, state, doors, relays, envoy: logs.envoy, health };
    return readMeshStatus({ ...sources, problems: upkeep.problems() });
  };
  const applyObjects = createObjectApplier({ running, parts, folder, doors, signal });
  const traffic = opened.add(
    createLateTraffic({ running, parts, folder, controlPlaneUrl: doors.controlPlane, problems: () => problems() }),
  );
  opened.add(
    await startControlServer({
      path: state.current.controlSocket,
      parts,
      status,
      files,
      applyObjects,
      followTraffic: traffic.follow,
    }),
  );

  const owned = opened.move();
  return toHandle({
    plan,
    parts,
    doors,
    entries: () => localEntries(plan, relays),
    status,
    untilReady: (limitMs: number) =>
      untilStarted({ plan, running, parts, controlPlane: doors.controlPlane, signal }, limitMs),
    // Parts are restarted after any failure: a mesh does not end by itself.
    ended: new Promise<void>(() => undefined),
    stop: () => owned.close(),
  });
}

/** Made when somebody first asks: most meshes are never looked at that way. */
function createLateTraffic(options: MeshSourcesOptions): TrafficWatch {
  let made: Promise<TrafficWatch> | undefined;
  const ending = new AbortController();
  return {
    async follow(onGraph, signal) {
      made ??= import("./console/watch-traffic.ts").then(({ createTrafficWatch }) => createTrafficWatch(options));
      await (await made).follow(onGraph, AbortSignal.any([signal, ending.signal]));
    },
    async stop() {
      ending.abort();
      await (await made)?.stop();
    },
  };
}

/** The same for every plan of this run. */
async function partInputs(
  options: StartMeshOptions,
  running: RunningMesh,
  state: StateRecord,
): Promise<(plan: MeshPlan) => PartInputs> {
  const { program, env } = options;
  const folder = stateFolder(options.stateFolder);
  // No other user has to read it.
  const isLoose = running.plan.network?.rootless !== false;
  const same = {
    folder,
    runId: state.current.runId,
    own: program,
    shared: isLoose ? program : sharedProgram(program, join(folder.path, "program")),
    env,
    appUser: isLoose ? undefined : options.appUser,
    hasSetpriv: (await runProgram("setpriv", ["--pdeathsig", "TERM", "true"])).code === 0,
  };
  return (plan) => ({ ...same, plan, directory: running.directory, consoleUrl: state.current.console?.url });
}

async function makeStateFolder(path: string): Promise<void> {
  try {
    await makeProxyDirectory(path, { access: "shared" });
    chmodSync(path, 0o755);
  } catch (thrown) {
    throw new MeshError("state", `cannot make the state folder: ${errorMessage(thrown)}`, { cause: thrown });
  }
}

/** Its network would be one less for all times, and its rules let packets through that are not sent any more. */
async function clearAbandoned(home: string, say: Say): Promise<void> {
  for (const { text, problems } of await removeAbandoned(home)) {
    say("warn", `removed what is left of ${text}`);
    for (const problem of problems) say("warn", problem);
  }
}

const describe = {
  namespaces: "a network namespace per workload, traffic and DNS captured",
  none: "no capture, a loopback address per caller and service",
} as const;

function createState({ file, program, ...options }: StartMeshOptions, path: string, plan: MeshPlan): StateRecord {
  const parent = identifyProcess(process.pid);
  if (parent === undefined) throw new MeshError("state", "this process cannot be identified");
  const runId = randomBytes(8).toString("hex");
  return createStateRecord(path, {
    format: 1,
    runId,
    name: file.name,
    startedAt: new Date().toISOString(),
    parent,
    controlSocket: controlSocketOf(runId),
    program: { launcher: program.launcher, node: program.node },
    plan,
    source: { path: options.watchedFile, fileName: options.fileName, directory: options.directory },
    namespaces: [],
    interfaces: [],
    resolverFolders: [],
    processes: {},
  });
}

function toClosable<Claim extends { release(): Promise<void> }>(claim: Claim): Claim & { close(): Promise<void> } {
  return { ...claim, close: () => claim.release() };
}
