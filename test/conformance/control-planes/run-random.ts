import { parseArgs } from "node:util";
import { CloseStack } from "../../../src/base/close-stack.ts";
import { errorMessage } from "../../../src/base/coded-error.ts";
import { startDiscoveryServer } from "../../support/discovery/server.ts";
import { startKubernetes } from "../../support/kubernetes/start-kubernetes.ts";
import { compareRandomMeshes } from "./random-meshes.ts";
import { startPeer } from "./start-peer.ts";

const USAGE = `usage: PEER=PROGRAM node scripts/compare-random-meshes.mjs [--meshes 500] [--seed 1] [--first 0] [--rules]
  Draws meshes, gives each to this control plane and to PROGRAM (pilot-discovery) as files, asks both as the same proxies and shows every
  difference in meaning; --rules prints the objects of meshes that differ. Needs an API server, for PROGRAM's start alone:
  npm run kubernetes -- get. Exit code 1: answers differ; 2: they could not be compared.`;

/** One line per mesh that differs and per difference. Returns the exit code. */
export async function main(
  args: readonly string[],
  peer: string | undefined,
  print: (line: string) => void,
): Promise<number> {
  try {
    const words = readWords(args, peer);
    return await compare(words, print);
  } catch (failure) {
    print(`${errorMessage(failure)}\n${failure instanceof UsageError ? USAGE : ""}`.trimEnd());
    return 2;
  }
}

class UsageError extends Error {}

async function compare(
  { peer: program, meshes, seed, first, showsRules }: Words,
  print: (line: string) => void,
): Promise<number> {
  await using opened = new CloseStack();
  const kubernetes = opened.add(await startKubernetes());
  await kubernetes.apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: "istio-system" } }]);
  const peer = opened.add(await startPeer(program, kubernetes.kubeconfig));
  const server = opened.add(await startDiscoveryServer());
  const ours = { address: { host: "127.0.0.1", port: server.ports.grpc }, write: server.write };
  const reasons = new Map<string, number>();
  let differing = 0;
  for await (const compared of compareRandomMeshes({ ours, peer, meshes, seed, first })) {
    for (const reason of compared.reasons) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    if (compared.differences.length === 0) continue;
    differing += 1;
    print(`DIFFERENT mesh ${compared.mesh}: ${compared.differences.length} differences`);
    for (const difference of compared.differences) print(`  ${difference}`);
    if (showsRules) print(compared.rules);
  }
  for (const [reason, count] of reasons) print(`${count} x as documented: ${reason}`);
  print(`${meshes - differing} of ${meshes} meshes are told the same (seed ${seed})`);
  return differing > 0 ? 1 : 0;
}

interface Words {
  readonly peer: string;
  readonly meshes: number;
  readonly seed: number;
  readonly first: number;
  readonly showsRules: boolean;
}

function readWords(args: readonly string[], peer = ""): Words {
  const text = { type: "string" } as const;
  const options = { meshes: text, seed: text, first: text, rules: { type: "boolean" } } as const;
  const { values } = parsed(() => parseArgs({ args: [...args], options }));
  if (peer === "") throw new UsageError("PEER is missing: the path of a pilot-discovery program");
  const number = (name: "meshes" | "seed" | "first", fallback: number) => {
    const given = values[name] ?? String(fallback);
    if (!/^\d{1,9}$/.test(given)) throw new UsageError(`--${name} must be a whole number, not "${given}"`);
    return Number(given);
  };
  return {
    peer,
    meshes: number("meshes", 500),
    seed: number("seed", 1),
    first: number("first", 0),
    showsRules: values.rules === true,
  };
}

function parsed<Value>(parse: () => Value): Value {
  try {
    return parse();
  } catch (failure) {
    throw new UsageError(errorMessage(failure));
  }
}
