import { askStatus, runningState, table } from "../../mesh/index.ts";
import { httpRequest } from "../../net/http-client/http-request.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { workloadsOf } from "./complete.ts";
import { PROXY_TABLES, type ProxyTable } from "./proxy-tables.ts";
import { TARGET_FLAGS, targetFolder } from "./target.ts";
import { noArguments, oneOf, UsageMistake } from "./usage-mistake.ts";

const ANSWER_MS = 10_000;
const OUTPUT = {
  name: "output",
  short: "o",
  type: "string",
  default: "table",
  values: ["table", "json"],
  usage: "Format: table or json",
} as const;

/** [column, type URL's last word] */
const TYPES = [
  ["CDS", "Cluster"],
  ["LDS", "Listener"],
  ["EDS", "ClusterLoadAssignment"],
  ["RDS", "RouteConfiguration"],
  ["ECDS", "TypedExtensionConfig"],
] as const;

interface ProxyState {
  readonly proxy: string;
  readonly cluster_id: string;
  readonly istio_version: string;
  readonly resources: Readonly<Record<string, { readonly status: string; readonly lastError?: string }>>;
}

export const proxyStatusCommand: Command = {
  name: "proxy-status",
  use: "proxy-status",
  short: "Shows which proxies have accepted what they were sent",
  long: `Shows for every connected proxy and every type of resource whether it has acknowledged the last answer of the control plane: SYNCED,
STALE (not yet), ERROR (refused; the reason is printed below), NOT SENT. The exit code is 1 when one has refused.`,
  flags: [OUTPUT, ...TARGET_FLAGS],
  checkArgs: noArguments,
  async run(context) {
    const output = oneOf("output", context.flags.string("output"), ["table", "json"]);
    const { controlPlane } = await askStatus(runningState(targetFolder(context)));
    if (!controlPlane.ready) throw new Error(`the control plane is away: ${controlPlane.reason}`);
    const proxies = JSON.parse(await fetchPage(`${controlPlane.debug}/syncz`)) as readonly ProxyState[];
    if (output === "json") context.print(`${JSON.stringify(proxies, null, 2)}\n`);
    else {
      const rows = proxies.map(({ proxy, cluster_id: cluster, istio_version: version, resources }) => [
        proxy,
        cluster,
        ...TYPES.map(([, type]) => stateOf(resources, type).replace("_", " ")),
        version,
      ]);
      const heads = ["NAME", "CLUSTER", ...TYPES.map(([column]) => column), "VERSION"];
      context.print(table([heads, ...rows.toSorted((a, b) => ((a[0] ?? "") < (b[0] ?? "") ? -1 : 1))]));
    }
    const refused = proxies.flatMap(({ proxy, resources }) =>
      Object.entries(resources).flatMap(([url, { lastError }]) =>
        lastError === undefined ? [] : [`${proxy}: ${url.slice(url.lastIndexOf(".") + 1)}: ${lastError}`],
      ),
    );
    for (const line of refused) context.printError(`error: ${line}\n`);
    return refused.length === 0 ? 0 : 1;
  },
};

function stateOf(resources: ProxyState["resources"], type: string): string {
  return Object.entries(resources).find(([url]) => url.endsWith(`.${type}`))?.[1].status ?? "NOT_SENT";
}

const NAMES = Object.keys(PROXY_TABLES) as readonly ProxyTable[];

export const proxyConfigCommand: Command = {
  name: "proxy-config",
  use: "proxy-config clusters|listeners|routes|endpoints|secrets WORKLOAD",
  short: "Shows what the Envoy of a workload has been configured with",
  long: "Asks the Envoy of a workload itself and prints what it has, with istioctl's columns; -o json prints Envoy's own page.",
  example: `  pilot-agent mesh proxy-config routes front
  pilot-agent mesh proxy-config endpoints front -o json`,
  flags: [OUTPUT, ...TARGET_FLAGS],
  completeArgs: (input) => (input.args.length === 0 ? NAMES : input.args.length === 1 ? workloadsOf(input) : []),
  checkArgs: (args) =>
    args.length === 2
      ? undefined
      : `expected one of ${NAMES.join(", ")} and a workload, found ${args.length} arguments`,
  async run(context) {
    const output = oneOf("output", context.flags.string("output"), ["table", "json"]);
    const [what = "", name = ""] = context.args;
    const chosen = NAMES.find((each) => each === what || each === `${what}s`);
    if (chosen === undefined)
      throw new UsageMistake(`${JSON.stringify(what)} cannot be shown; there are ${NAMES.join(", ")}`);
    const admin = await adminOf(context, name);
    const { page, heads, rows } = PROXY_TABLES[chosen];
    const body = await fetchPage(`${admin}${page}`);
    context.print(output === "json" ? `${body.trimEnd()}\n` : table([heads, ...rows(JSON.parse(body))]));
    return 0;
  },
};

async function adminOf(context: CommandContext, name: string): Promise<string> {
  const { workloads } = await askStatus(runningState(targetFolder(context)));
  const found = workloads.find((workload) => workload.name === name);
  const names = workloads.map((workload) => workload.name).join(", ");
  if (found === undefined) throw new Error(`there is no workload ${name}; there are ${names}`);
  if (found.admin === undefined) throw new Error("this mesh runs without Envoy");
  return found.admin;
}

async function fetchPage(url: string): Promise<string> {
  const { status, body } = await httpRequest({ url, timeoutMs: ANSWER_MS, maxBytes: Number.POSITIVE_INFINITY });
  if (status !== 200) throw new Error(`${url} answers ${status}: ${body.trim()}`);
  return body;
}
