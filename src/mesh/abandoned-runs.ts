import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { NetworkPlan } from "./core/mesh-plan.ts";
import { namespaceNetwork, SLOTS } from "./core/plan-addresses.ts";
import { isClaimed, tryClaim } from "./isolation/claim-slot.ts";
import { egressOf, interfacesWithRules } from "./isolation/egress.ts";
import { NAMESPACES, namespaceProcesses, RESOLVERS } from "./isolation/namespaces.ts";
import { type NetworkOwner, ownerOf } from "./isolation/network-owner.ts";
import { controlSocketOf, type MeshState, readState } from "./state/mesh-state.ts";
import { knownMeshes, stateFolder } from "./state/state-folder.ts";
import { endRun, type RunTraces } from "./tear-down.ts";

/** What a mesh of root left on the machine that was killed and whose state folder is gone: only the machine itself knows of it. */
export interface AbandonedRun {
  readonly slot: number;
  /** Undefined where its interface is gone as well. */
  readonly owner: NetworkOwner | undefined;
  readonly traces: RunTraces;
}

export interface RemovedRun {
  /** What was there, in a user's words. */
  readonly text: string;
  readonly problems: readonly string[];
}

/** `home` holds the states of this user's meshes: what one of them names is that mesh's to remove. */
export async function findAbandoned(home: string): Promise<readonly AbandonedRun[]> {
  const found = await Promise.all((await slotsInUse()).map((slot) => look(slot, home)));
  return found.flatMap((run) => run ?? []);
}

export async function removeAbandoned(
  home: string,
  isMeant: (run: AbandonedRun) => boolean = () => true,
): Promise<readonly RemovedRun[]> {
  const removed: RemovedRun[] = [];
  for (const { slot } of (await findAbandoned(home)).filter(isMeant)) {
    // No other run takes the network over in the middle.
    const claim = await tryClaim(slot);
    if (claim === undefined) continue;
    try {
      const run = await look(slot, home, { isClaimedHere: true });
      if (run !== undefined) removed.push({ text: abandonedText(run), problems: (await endRun(run.traces)).problems });
    } finally {
      await claim.release();
    }
  }
  return removed;
}

export function abandonedText({ owner, traces: { interfaces, namespaces, egress } }: AbandonedRun): string {
  const what = [
    ...interfaces.map((name) => `interface ${name}`),
    ...(namespaces.length === 0 ? [] : [`${namespaces.length} network namespace${namespaces.length === 1 ? "" : "s"}`]),
    ...(egress === undefined ? [] : ["rules of the packet filter"]),
  ];
  const mesh = owner === undefined ? "a mesh that was killed" : `mesh ${owner.name}, which was killed`;
  return `${mesh} and whose state folder is gone: ${what.join(", ") || "files in /etc/netns"}`;
}

/** No process and no socket carries it. */
const UNKNOWN_RUN = "unknown";

async function slotsInUse(): Promise<readonly number[]> {
  const names = [...[NAMESPACES, RESOLVERS].flatMap(namesIn), ...interfaceNames(), ...(await interfacesWithRules())];
  const slots = names.flatMap((name) => {
    const [, slot] = /^pamesh(\d+)(-|$)/.exec(name) ?? [];
    return slot === undefined || Number(slot) >= SLOTS ? [] : [Number(slot)];
  });
  return [...new Set(slots)];
}

async function look(slot: number, home: string, { isClaimedHere = false } = {}): Promise<AbandonedRun | undefined> {
  if (!isClaimedHere && (await isClaimed(slot))) return undefined;
  const network = namespaceNetwork(slot).plan;
  const owner = interfaceNames().includes(network.hostInterface) ? ownerOf(network.hostInterface) : undefined;
  const traces = await tracesOf(network, owner?.runId ?? UNKNOWN_RUN);
  const { namespaces, interfaces, resolverFolders, egress } = traces;
  const isThere = namespaces.length + interfaces.length + resolverFolders.length > 0 || egress !== undefined;
  if (!isThere || isKnown(network, owner, home)) return undefined;
  // Without the interface it may be the mesh of another network namespace of this machine, whose claim is not seen from here.
  if (owner === undefined && (await namespaceProcesses(namespaces)).length > 0) return undefined;
  return { slot, owner, traces };
}

/** As the state would name it. */
async function tracesOf(network: NetworkPlan, runId: string): Promise<RunTraces> {
  const { hostInterface } = network;
  const isOwn = (name: string) => name.startsWith(`${hostInterface}-`);
  return {
    runId,
    controlSocket: controlSocketOf(runId),
    namespaces: namesIn(NAMESPACES).filter(isOwn),
    interfaces: interfaceNames().filter((name) => name === hostInterface),
    resolverFolders: namesIn(RESOLVERS)
      .filter(isOwn)
      .map((name) => join(RESOLVERS, name)),
    ...((await interfacesWithRules()).includes(hostInterface) ? { egress: egressOf(network) } : {}),
    processes: {},
  };
}

function isKnown({ hub, hostInterface }: NetworkPlan, owner: NetworkOwner | undefined, home: string): boolean {
  if (owner !== undefined) return stateIn(owner.folder)?.runId === owner.runId;
  return knownMeshes(home).some((name) => {
    const state = stateIn(join(home, name));
    return state?.namespaces.includes(hub) || state?.interfaces.includes(hostInterface);
  });
}

/** One that cannot be read says nothing of what it was for. */
function stateIn(folder: string): MeshState | undefined {
  try {
    return readState(stateFolder(folder).stateFile);
  } catch {
    return undefined;
  }
}

/** Those of this network; /sys may show another one. */
function interfaceNames(): readonly string[] {
  const lines = readFileSync("/proc/net/dev", "utf8").split("\n");
  return lines.flatMap((line) => /^\s*([^\s:]+):/.exec(line)?.[1] ?? []);
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
