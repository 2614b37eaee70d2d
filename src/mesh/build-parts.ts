import { fchownSync } from "node:fs";
import { join, resolve } from "node:path";
import { agentEnvironment } from "./core/agent-environment.ts";
import { appEnvironment, commandWords } from "./core/app-environment.ts";
import { isProxyless, type MeshPlan, type Workload } from "./core/mesh-plan.ts";
import { controlPlaneCommand, type RunAs, wrapCommand } from "./core/part-commands.ts";
import { agentResolver, PROXY_UID } from "./isolation/namespaces.ts";
import type { AgentProgram } from "./process/shared-program.ts";
import type { PartSpec } from "./process/start-part.ts";
import { RUN_VARIABLE } from "./state/mesh-state.ts";
import type { StateFolder } from "./state/state-folder.ts";

export const CONTROL_PLANE = "control-plane";

export interface PartInputs {
  readonly plan: MeshPlan;
  readonly folder: StateFolder;
  readonly runId: string;
  /** What agents execute, and what this process executes. */
  readonly shared: AgentProgram;
  readonly own: AgentProgram;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly directory: string;
  readonly appUser: RunAs | undefined;
  /** Without its token. */
  readonly consoleUrl?: string | undefined;
  readonly hasSetpriv: boolean;
}

type LaunchedProgram = Pick<AgentProgram, "launcher" | "node">;

/** Time for an agent: its drain of one second, then Envoy's end. */
const AGENT_GRACE_MS = 6000;
const APP_GRACE_MS = 3000;
const CONTROL_PLANE_GRACE_MS = 3000;
const SYSTEM_PATH = "/usr/bin:/bin:/usr/sbin:/sbin";
const PROXY_USER: RunAs = { uid: PROXY_UID, gid: PROXY_UID, hasGroups: false };

export function controlPlanePart(inputs: PartInputs): PartSpec {
  const { plan, folder, own, hasSetpriv } = inputs;
  const { config, meshConfig, ca } = folder;
  const { words, env } = controlPlaneCommand(plan, { config, meshConfig, ca });
  return {
    name: CONTROL_PLANE,
    command: wrapCommand([own.launcher, ...words], {
      netns: plan.controlPlane.netns,
      resolver: resolverOf(plan, plan.network?.hub),
      hasSetpriv,
    }),
    env: { ...systemEnvironment(inputs), ...launcherEnvironment(own), ...env },
    directory: folder.path,
    logFile: folder.log(CONTROL_PLANE),
    graceMs: CONTROL_PLANE_GRACE_MS,
  };
}

export function agentPart(inputs: PartInputs, workload: Workload): PartSpec {
  const { plan, folder, shared, hasSetpriv } = inputs;
  const isOwnUser = plan.network?.rootless === false;
  const nodeType = workload.kind === "gateway" ? "router" : "sidecar";
  const wrapping = {
    netns: workload.netns,
    resolver: resolverOf(plan, agentResolver(workload)),
    user: isOwnUser ? PROXY_USER : undefined,
    hasSetpriv,
  };
  return {
    name: `${workload.name}/agent`,
    command: wrapCommand([shared.launcher, "proxy", nodeType, "--proxyLogLevel=warning"], wrapping),
    env: {
      ...systemEnvironment(inputs),
      ...launcherEnvironment(shared),
      ...agentEnvironment(plan, workload, shared.envoy),
    },
    directory: folder.workload(workload.name),
    logFile: folder.log(`${workload.name}/agent`),
    ...(isOwnUser ? { onLogOpened: (descriptor) => fchownSync(descriptor, PROXY_UID, PROXY_UID) } : {}),
    graceMs: AGENT_GRACE_MS,
  };
}

export function appPart(inputs: PartInputs, workload: Workload): PartSpec {
  const { plan, folder, directory, appUser, hasSetpriv } = inputs;
  const env = appProcessEnvironment(inputs, workload);
  const meetsAgent = isProxyless(plan, workload) && workload.directory === undefined;
  return {
    name: `${workload.name}/app`,
    command: wrapCommand(commandWords(workload.command, env), {
      netns: workload.netns,
      // What is not captured asks the server that answers.
      resolver: resolverOf(plan, isProxyless(plan, workload) ? agentResolver(workload) : workload.netns),
      user: appUser,
      hasSetpriv,
    }),
    env,
    // Without a sidecar it meets its agent in the agent's folder.
    directory: meetsAgent ? folder.workload(workload.name) : resolve(directory, workload.directory ?? "."),
    logFile: folder.log(`${workload.name}/app`),
    graceMs: APP_GRACE_MS,
    endsGroup: true,
  };
}

function resolverOf({ network }: MeshPlan, name: string | undefined): string | undefined {
  return network?.rootless && name !== undefined ? join(network.resolvers, name) : undefined;
}

/** The user's own environment and what the mesh adds. PILOT_AGENT is this program, for commands that use it. */
export function appProcessEnvironment(
  inputs: Pick<PartInputs, "plan" | "env" | "runId" | "consoleUrl"> & { readonly own: LaunchedProgram },
  workload: Workload,
): Record<string, string> {
  return {
    ...defined(inputs.env),
    ...systemEnvironment(inputs),
    ...launcherEnvironment(inputs.own),
    PILOT_AGENT: `'${inputs.own.launcher.replaceAll("'", "'\\''")}'`,
    ...(inputs.consoleUrl === undefined ? {} : { MESH_CONSOLE_URL: inputs.consoleUrl }),
    ...appEnvironment(inputs.plan, workload),
    // A variable of the workload does not replace the mark: processes are found by it.
    [RUN_VARIABLE]: inputs.runId,
  };
}

/** The Node that runs `mesh up`, which is on no user's path when it was found another way. */
function launcherEnvironment({ node }: LaunchedProgram): Record<string, string> {
  return { PILOT_AGENT_NODE: node };
}

/** Programs like ip, and those of the launcher, may lie where a user's path does not lead. */
function systemEnvironment({ env, runId }: Pick<PartInputs, "env" | "runId">): Record<string, string> {
  return { PATH: [env.PATH, SYSTEM_PATH].filter(Boolean).join(":"), [RUN_VARIABLE]: runId };
}

function defined(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
