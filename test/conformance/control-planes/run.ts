import { parseArgs } from "node:util";
import { errorMessage } from "../../../src/base/coded-error.ts";
import { readKubeconfig } from "../../../src/kubernetes/access/read-kubeconfig.ts";
import { type HostPort, parsePort, splitHostPort } from "../../../src/net/host-port.ts";
import { compareControlPlanes } from "./compare-control-planes.ts";

const USAGE = `usage: node scripts/compare-control-planes.mjs --kubeconfig FILE --ours HOST:PORT --peer HOST:PORT [--namespace NS ...] [--cluster ID]
  Both control planes read the API server of FILE; HOST:PORT is plaintext xDS (15010). Each is asked as the pods of the cluster for
  clusters, endpoints, listeners, routes and names. Exit code 1: answers differ in meaning; 2: they could not be compared.`;

/** One line per proxy and per difference. Returns the exit code. */
export async function main(args: readonly string[], print: (line: string) => void): Promise<number> {
  try {
    return await compare(args, print);
  } catch (failure) {
    print(`${errorMessage(failure)}\n${failure instanceof UsageError ? USAGE : ""}`.trimEnd());
    return 2;
  }
}

class UsageError extends Error {}

async function compare(args: readonly string[], print: (line: string) => void): Promise<number> {
  const { kubeconfig, ours, peer, namespace, cluster } = readWords(args);
  const access = await readKubeconfig({ paths: [kubeconfig] });
  let proxies = 0;
  let differing = 0;
  const shown = new Set<string>();
  const compared = compareControlPlanes({ access, clusterId: cluster, ours, peer, namespaces: namespace });
  for await (const { node, differences } of compared) {
    proxies += 1;
    if (differences.length > 0) differing += 1;
    print(differences.length === 0 ? `same ${node}` : `DIFFERENT ${node}: ${differences.length} differences`);
    const isNew = (difference: string) => !shown.has(difference);
    for (const difference of differences.filter(isNew)) print(`  ${difference}`);
    const repeated = differences.filter((difference) => !isNew(difference)).length;
    if (repeated > 0) print(`  ${repeated} as shown above`);
    for (const difference of differences) shown.add(difference);
  }
  if (proxies === 0) throw new UsageError("the cluster has no pod with an address in these namespaces");
  print(`${proxies - differing} of ${proxies} proxies are told the same`);
  return differing > 0 ? 1 : 0;
}

function readWords(args: readonly string[]) {
  const text = { type: "string" } as const;
  const texts = { type: "string", multiple: true } as const;
  const options = { kubeconfig: text, ours: text, peer: text, cluster: text, namespace: texts };
  const { values } = parsed(() => parseArgs({ args: [...args], options }));
  const { kubeconfig, namespace = [], cluster = "Kubernetes" } = values;
  if (kubeconfig === undefined) throw new UsageError("--kubeconfig is missing");
  return {
    kubeconfig,
    namespace,
    cluster,
    ours: readAddress("--ours", values.ours),
    peer: readAddress("--peer", values.peer),
  };
}

function parsed<Value>(parse: () => Value): Value {
  try {
    return parse();
  } catch (failure) {
    throw new UsageError(errorMessage(failure));
  }
}

function readAddress(flag: string, value = ""): HostPort {
  const split = splitHostPort(value);
  const port = "problem" in split ? undefined : parsePort(split.port);
  if ("problem" in split || port === undefined) throw new UsageError(`${flag} must be HOST:PORT, not "${value}"`);
  return { host: split.host || "127.0.0.1", port };
}
