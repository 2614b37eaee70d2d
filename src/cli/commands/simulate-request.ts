import { errorMessage } from "../../base/coded-error.ts";
import type { Workload } from "../../explain/index.ts";
import { printYaml } from "../../files/yaml/print-yaml.ts";
import type { KubernetesObject } from "../../mesh-model/kubernetes-object.ts";
import { type TokenKeys, tokenKeysName } from "../../mesh-model/token-keys.ts";
import type { SimulatedCall, Simulation } from "../../simulate/index.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { type AnalyzeInput, documentOf } from "./analyze-input.ts";
import { createLocator, flag, OBJECT_FLAGS, readMeshInput, refusedObjects, snapshotOf } from "./mesh-of-objects.ts";
import { withPlannedObjects } from "./planned-objects.ts";
import { readResourceFiles } from "./resource-files.ts";
import { parseTarget } from "./simulate-target.ts";
import { simulationText } from "./simulation-text.ts";

const FORMATS = ["text", "json", "yaml"];

export const command: Command = {
  name: "request",
  use: "request --from WORKLOAD --to URL (--config DIR | --kube) [-H NAME:VALUE ...]",
  short: "Walks a request through the configuration of the proxies on its way",
  long: `Makes the mesh of the objects in files (or of a cluster, --kube), generates what the control plane would send to the client's proxy and
to the server's, and walks them as Envoy would: listener, filter chain, route, faults, cluster, endpoints, TLS, then listener, TLS,
tokens and access policies of the server. Prints every decision with the objects that it comes from, and the answer: the endpoints, or
which proxy answers what and why. Nothing is sent.

--to takes http://, https:// (the application's own TLS), tcp:// and tls://. The workload is NAMESPACE/POD, the name of its Deployment, a
WorkloadEntry, or an address. From files, workloads that have no pods yet are given one each.

Exit code 0: the request arrives or is answered as rules say; 3: it is refused or goes nowhere; 2: wrong use; 1: anything else.`,
  example: `  # Where does it go?
  pilot-agent simulate request --config ./manifests --from prod/web --to http://api/v1/users

  # Who may call this?
  pilot-agent simulate request --kube --from prod/web --to http://api:8080/admin --method DELETE -H 'x-user: alice'

  # With a token; keys that the control plane would fetch come from a file
  pilot-agent simulate request --config . --from prod/web --to http://api/me --jwt token.txt --jwks keys.json

  # A connection, for machines
  pilot-agent simulate request --config . --from prod/web --to tcp://db:5432 -o json`,
  flags: [
    flag("from", "The workload that calls: NAMESPACE/POD, a Deployment, a WorkloadEntry, or an address"),
    flag("to", "What it calls: http://HOST[:PORT]/PATH, https://, tcp://HOST:PORT or tls://HOST:PORT"),
    flag("method", "Method of the request", { default: "GET", short: "X" }),
    flag("header", "Header of the request, NAME:VALUE; may be repeated", {
      type: "stringArray",
      default: [],
      short: "H",
    }),
    flag("jwt", "File with a token that is sent as Authorization: Bearer"),
    flag("jwks", "File with the key set of issuers whose keys the control plane would fetch"),
    flag("address", "Address that the name is resolved to, for names that the mesh does not know"),
    flag("http2", "The application speaks HTTP/2, as gRPC does", { type: "bool", default: false }),
    ...OBJECT_FLAGS,
    flag("output", "text, json or yaml", { short: "o", default: "text" }),
  ],
  usageExitCode: 2,
  checkArgs: (args) =>
    args.length > 0 ? `accepts no arguments, received ${args.length}: the address goes with --to` : undefined,
  run: async (context) => {
    const call = wrongUse(context) ?? callOf(context);
    if (typeof call === "string") {
      context.printError(`Error: ${call}\n`);
      return 2;
    }
    try {
      return await simulate(context, call);
    } catch (failure) {
      context.printError(`Error: ${errorMessage(failure)}\n`);
      return 1;
    }
  },
};

function wrongUse({ flags }: CommandContext): string | undefined {
  const format = flags.string("output");
  if (!FORMATS.includes(format)) return `--output is ${JSON.stringify(format)}, allowed: ${FORMATS.join(", ")}`;
  if (flags.stringArray("config").length === 0 && !flags.bool("kube")) {
    return "no mesh to walk through: give objects with --config, or --kube for a cluster";
  }
  if (flags.string("from") === "") return "who calls? give --from NAMESPACE/POD";
  return flags.string("to") === "" ? "what is called? give --to http://HOST[:PORT]/PATH or tcp://HOST:PORT" : undefined;
}

/** The text says what is wrong. */
function callOf({ flags }: CommandContext): SimulatedCall | string {
  const target = parseTarget(flags.string("to"), flags.bool("http2"));
  if (typeof target === "string") return target;
  const headers: Record<string, string> = {};
  for (const entry of flags.stringArray("header")) {
    const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)$/.exec(entry) ?? [];
    if (name === undefined || value === undefined) return `--header is ${JSON.stringify(entry)}, expected NAME:VALUE`;
    const lower = name.toLowerCase();
    headers[lower] = headers[lower] === undefined ? value : `${headers[lower]},${value}`;
  }
  const address = flags.string("address");
  return { ...target, method: flags.string("method").toUpperCase(), headers, ...(address !== "" && { address }) };
}

async function simulate(context: CommandContext, call: SimulatedCall): Promise<number> {
  const { flags, print, printError } = context;
  const [read, rooms, { simulateRequest }] = await Promise.all([
    readMeshInput(context),
    import("../../explain/index.ts"),
    import("../../simulate/index.ts"),
  ]);
  const input = read.hasCluster ? read : withPlannedObjects(read);
  for (const line of refusedObjects(input)) printError(`Warning: ${line}\n`);
  const snapshot = await snapshotOf(input, await givenKeys(flags.string("jwks"), input));
  const pods = input.objects.filter(({ kind }) => kind === "Pod").map((pod): KubernetesObject => documentOf(pod));
  const workloads = rooms.workloadsOf(snapshot, pods);
  const from = findWorkload(workloads, flags.string("from"));
  if (!from.hasProxy)
    printError(`Warning: ${from.namespace}/${from.name} has no proxy; it is walked through as if it had one\n`);
  const mesh = rooms.simulatedMesh({ snapshot, workloads, now: Date.now(), locate: createLocator(input) });
  const simulation = simulateRequest(mesh.proxyOf(from), await withToken(call, flags.string("jwt")), mesh);
  print(printed(simulation, call, `${from.namespace}/${from.name}`, flags.string("output")));
  return simulation.every(({ value }) => ARRIVES.has(value.kind)) ? 0 : 3;
}

/** What rules ask for; everything else is a refusal or a failure. */
const ARRIVES = new Set(["endpoint", "passthrough", "direct-response", "redirect", "aborted"]);

async function withToken(call: SimulatedCall, file: string): Promise<SimulatedCall> {
  if (file === "") return call;
  const [text = ""] = await readResourceFiles([file]);
  return { ...call, headers: { ...call.headers, authorization: `Bearer ${text.trim()}` } };
}

/** The key set of the file for every rule whose keys would be fetched. */
async function givenKeys(file: string, { objects }: AnalyzeInput): Promise<TokenKeys | undefined> {
  if (file === "") return undefined;
  const [text = ""] = await readResourceFiles([file]);
  const names = objects.flatMap(({ decoded }) => {
    const object = decoded?.object;
    return object?.kind === "RequestAuthentication"
      ? object.spec.jwtRules.flatMap((rule) => tokenKeysName(rule) ?? [])
      : [];
  });
  return new Map(names.map((name) => [name, text]));
}

/** By `NAMESPACE/NAME`, by name alone where one namespace has it, by the start of the name, or by address. */
function findWorkload(workloads: readonly Workload[], wanted: string): Workload {
  const full = ({ namespace, name }: Workload) => `${namespace}/${name}`;
  const found =
    workloads.find((one) => full(one) === wanted || one.addresses.includes(wanted)) ??
    workloads.find((one) => one.name === wanted) ??
    workloads.find((one) => full(one).startsWith(`${wanted}-`) || one.name.startsWith(`${wanted}-`));
  if (found !== undefined) return found;
  const known = workloads.slice(0, 10).map(full).join(", ");
  throw new Error(`no workload ${wanted} among the objects; ${known === "" ? "there are none" : `there are ${known}`}`);
}

function printed(simulation: Simulation, call: SimulatedCall, from: string, format: string): string {
  if (format === "text") return simulationText(simulation, call, from);
  const ways = simulation.map(({ share, value, decisions }) => ({
    share: Number(share.toFixed(6)),
    answer: value,
    decisions,
  }));
  return format === "yaml" ? printYaml({ from, ways }) : `${JSON.stringify({ from, ways }, undefined, 2)}\n`;
}
