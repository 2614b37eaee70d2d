import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "../base/coded-error.ts";
import type { DevelopmentIssuer } from "../ca/index.ts";
import { identifyProcess } from "../process/process-identity.ts";
import { agentPart, appPart, type PartInputs } from "./build-parts.ts";
import type { MeshPlan, NetworkPlan, Workload } from "./core/mesh-plan.ts";
import { type StartQuestions, startObjection } from "./core/start-order.ts";
import { createNamespaces, dropNamespace, namespaceProcesses, PROXY_UID } from "./isolation/namespaces.ts";
import { captureRules } from "./isolation/rootless-capture.ts";
import { mustRun } from "./isolation/run-tool.ts";
import { MeshError } from "./mesh-error.ts";
import type { MeshParts } from "./mesh-parts.ts";
import { prepareWorkloadFolder, writeIdentity } from "./prepare-folders.ts";
import { endProcesses, markedProcesses } from "./process/mesh-processes.ts";
import type { AgentProgram } from "./process/shared-program.ts";
import type { RunningMesh } from "./running-mesh.ts";
import type { StateRecord } from "./state/mesh-state.ts";
import type { StateFolder } from "./state/state-folder.ts";
import { untilReady } from "./until-ready.ts";

/** Ports of the agent and of Envoy that are asked from outside and must not be captured. */
const OWN_PORTS = "15090,15021,15020";

/** How a workload of a mesh comes and goes. */
export interface WorkloadLife {
  /** Its folder and its network, as yet without capture. */
  prepare(plan: MeshPlan, workloads: readonly Workload[]): Promise<void>;
  /** With namespaces: its traffic goes through its sidecar. */
  capture(workloads: readonly Workload[]): Promise<void>;
  /** The control plane has to have run once: it makes the root. */
  identify(plan: MeshPlan, workloads: readonly Workload[]): Promise<void>;
  /** An application starts when its sidecar can take its first call, or after a while without; as with holdApplicationUntilProxyStarts. */
  start(plan: MeshPlan, workload: Workload): Promise<void>;
  /** The sidecar finishes what it has begun while its application is there; then both end. */
  end(workload: Workload): Promise<void>;
  /** Removes what `prepare` made; says what could not be removed. */
  clear(workload: Workload): Promise<readonly string[]>;
  /** For the next start of an application that goes on. */
  renew(plan: MeshPlan, workload: Workload): void;
}

export interface LifeOptions {
  inputs(plan: MeshPlan): PartInputs;
  readonly running: Pick<RunningMesh, "plan" | "aside">;
  readonly folder: StateFolder;
  readonly parts: MeshParts;
  readonly state: StateRecord;
  readonly issuer: DevelopmentIssuer;
  readonly signal: AbortSignal;
}

const SIDECAR_MS = 20_000;

export function createWorkloadLife(options: LifeOptions): WorkloadLife {
  const { inputs, running, folder, parts, state, issuer, signal } = options;
  const questions: StartQuestions = {
    isStarted: ({ name, kind }) => parts.status(`${name}/${kind === "gateway" ? "agent" : "app"}`).phase === "running",
    // Whoever depends on it is to reach it with its first call.
    obstacle: async (workload) =>
      (await parts.workloadObstacle(workload)) ??
      (running.aside.has(workload.name) ? `${workload.name}/app: it works, and others do not call it yet` : undefined),
  };
  return {
    async prepare(plan, workloads) {
      for (const workload of workloads) prepareWorkloadFolder(folder, plan, workload);
      if (plan.network !== undefined) await createNamespaces(workloads, plan, plan.network, state);
    },
    async capture(workloads) {
      const captured = workloads.filter(({ netns, kind }) => netns !== undefined && kind === "sidecar");
      const { network } = running.plan;
      await Promise.all(
        captured.map((workload) =>
          network?.rootless ? captureMarked(workload, network) : captureTraffic(workload, state.current.program),
        ),
      );
    },
    async identify(plan, workloads) {
      const source = { issuer, rootPem: readFileSync(join(folder.ca, "root-cert.pem"), "utf8") };
      await Promise.all(workloads.map((workload) => writeIdentity(folder, plan, workload, source)));
    },
    async start(plan, workload) {
      parts.add(agentPart(inputs(plan), workload));
      await untilReady([() => parts.agentObstacle(workload)], { limitMs: SIDECAR_MS, signal });
      if (signal.aborted) throw new MeshError("start", "interrupted");
      if (workload.kind === "gateway") return;
      const spec = appPart(inputs(plan), workload);
      if (workload.dependsOn.length === 0) parts.add(spec);
      else parts.addLater(spec, () => startObjection(running.plan, workload, questions));
    },
    async end({ name }) {
      await parts.remove(`${name}/agent`);
      await parts.remove(`${name}/app`);
    },
    async clear(workload) {
      const strays = await endStrays(workload, state.current.runId);
      const problems = [...strays, ...(await dropNamespace(workload, state))];
      rmSync(folder.workload(workload.name), { recursive: true, force: true });
      return problems;
    },
    renew(plan, workload) {
      if (workload.kind !== "gateway") parts.find(`${workload.name}/app`).setSpec(appPart(inputs(plan), workload));
    },
  };
}

const STRAY_GRACE_MS = 1000;

/** What an application has sent into the background: it could not be found once its namespace has lost its name. */
async function endStrays({ name, netns }: Workload, runId: string): Promise<readonly string[]> {
  const pids = netns === undefined ? [] : await namespaceProcesses([netns]);
  const inside = pids.flatMap((pid) => identifyProcess(pid) ?? []);
  try {
    await endProcesses(() => [...inside, ...markedProcesses(runId, name)], STRAY_GRACE_MS);
    return [];
  } catch (thrown) {
    return [`${name}: ${errorMessage(thrown)}`];
  }
}

async function captureMarked(workload: Workload, network: NetworkPlan): Promise<void> {
  const words = ["netns", "exec", workload.netns ?? "", "iptables-restore"];
  await mustRun("ip", words, captureRules(workload, network));
}

/** The rules of an injected pod, with DNS, inside the workload's namespace; they go with it. */
async function captureTraffic(
  workload: Workload,
  { launcher, node }: Pick<AgentProgram, "launcher" | "node">,
): Promise<void> {
  const words = ["istio-iptables", "-p", "15001", "-z", "15006", "-u", String(PROXY_UID), "-g", String(PROXY_UID)];
  const what = ["-m", "REDIRECT", "-i", "*", "-x", "", "-b", "*", "-d", OWN_PORTS, "--redirect-dns"];
  await mustRun("ip", [
    "netns",
    "exec",
    workload.netns ?? "",
    "env",
    `PILOT_AGENT_NODE=${node}`,
    launcher,
    ...words,
    ...what,
    "--log_output_level=error",
  ]);
}
