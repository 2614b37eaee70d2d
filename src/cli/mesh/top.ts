import { askTraffic, runningState, type TrafficEdge, type TrafficGraph, table } from "../../mesh/index.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { TARGET_FLAGS, targetFolder } from "./target.ts";
import { noArguments, oneOf } from "./usage-mistake.ts";

/** Envoy adds to its histograms every five seconds: a snapshot of the first ones would have no latencies. */
const SNAPSHOTS_OF_ONCE = 4;
/** An Envoy that is late with its histograms or with an answer is waited for no longer. */
const MOST_SNAPSHOTS_OF_ONCE = 8;
const DEFAULT_ROWS = 24;
const HEADS = ["FROM", "TO", "PROTOCOL", "REQ/S", "ERRORS", "4XX", "P50", "P99", "OPEN", "MTLS"];

export const command: Command = {
  name: "top",
  use: "top",
  short: "Shows requests, errors and latencies between workloads, live",
  long: `Shows what flows between the services of a running mesh, the busiest first: requests per second, the share of errors (5xx and requests
without an answer) and of 4xx, latencies, open connections and how many of them are mutual TLS. The figures are those of the console's graph, of the
last four seconds (latencies: twelve). On a terminal they are drawn anew every two seconds until Ctrl-C.`,
  example: `  # Once, for a script
  pilot-agent mesh top --once -o json`,
  flags: [
    { name: "once", type: "bool", default: false, usage: "Print the figures of the next seconds once, and end" },
    {
      name: "output",
      short: "o",
      type: "string",
      default: "table",
      values: ["table", "json"],
      usage: "Format: table or json, one line for each time",
    },
    ...TARGET_FLAGS,
  ],
  checkArgs: noArguments,
  async run(context) {
    const { flags, signal } = context;
    const output = oneOf("output", flags.string("output"), ["table", "json"]);
    const isOnce = flags.bool("once");
    const ending = new AbortController();
    signal.addEventListener("abort", () => ending.abort(), { once: true });
    let seen = 0;
    const show = output === "json" ? jsonPrinter(context) : tablePrinter(context, isOnce);
    await askTraffic(runningState(targetFolder(context)), ending.signal, (graph) => {
      seen += 1;
      // Rates are differences: of the first snapshot there are none.
      if (isOnce ? !isWhole(graph, seen) : seen < 2) return;
      show(graph);
      if (isOnce) ending.abort();
    });
    return 0;
  },
};

/** Whether the snapshot has all figures that one alone is printed for: every edge that has requests has their latencies. */
export function isWhole({ edges }: Pick<TrafficGraph, "edges">, seen: number): boolean {
  if (seen < SNAPSHOTS_OF_ONCE) return false;
  if (seen >= MOST_SNAPSHOTS_OF_ONCE) return true;
  return edges.every(({ protocol, rps, p50Ms }) => protocol === "tcp" || rps === 0 || p50Ms !== undefined);
}

function jsonPrinter({ print }: CommandContext): (graph: TrafficGraph) => void {
  return (graph) => {
    const edges = byTraffic(graph.edges).map(({ id: _, from, to, ...figures }) => ({
      from: nameOf(graph, from),
      to: nameOf(graph, to),
      ...figures,
    }));
    const { at, windowMs, stale } = graph;
    print(`${JSON.stringify({ at, windowMs, edges, stale })}\n`);
  };
}

/** Drawn over the last one on a terminal; elsewhere one table after the other. */
function tablePrinter({ print, isTerminal }: CommandContext, isOnce: boolean): (graph: TrafficGraph) => void {
  const isLive = isTerminal && process.stdout.isTTY === true && !isOnce;
  const rows = (process.stdout.rows || DEFAULT_ROWS) - HEADING_LINES;
  return (graph) => {
    const text = trafficText(graph, isLive ? rows : Number.POSITIVE_INFINITY);
    print(isLive ? `\u001b[H\u001b[2J${text}` : isOnce ? text : `${text}\n`);
  };
}

const HEADING_LINES = 4;

/** What `mesh top` prints of one snapshot. */
export function trafficText(graph: TrafficGraph, maxRows: number): string {
  const edges = byTraffic(graph.edges);
  const sum = edges.reduce((total, { rps }) => total + rps, 0);
  const cells = edges.slice(0, maxRows).map((edge) => cellsOf(graph, edge));
  const more = edges.length > maxRows ? `and ${edges.length - maxRows} more\n` : "";
  const stale = graph.stale.map(({ workload, reason }) => `${workload}: no figures: ${reason}\n`).join("");
  const head = `${new Date(graph.at).toISOString().slice(11, 19)}  ${figure(sum)} requests/s on ${edges.length} ${edges.length === 1 ? "edge" : "edges"}\n`;
  return `${head}${edges.length === 0 ? "nothing was sent in the last seconds\n" : table([HEADS, ...cells])}${more}${stale}`;
}

function byTraffic(edges: readonly TrafficEdge[]): readonly TrafficEdge[] {
  return edges.toSorted((a, b) => b.rps - a.rps || b.connectionsPerSecond - a.connectionsPerSecond);
}

function cellsOf(graph: TrafficGraph, edge: TrafficEdge): string[] {
  const { from, to, protocol, rps, errorShare, clientErrorShare, p50Ms, p99Ms, openConnections, mtlsShare } = edge;
  const ofHttp = (text: string) => (protocol === "http" ? text : "-");
  return [
    nameOf(graph, from),
    nameOf(graph, to),
    protocol,
    ofHttp(figure(rps)),
    ofHttp(percent(errorShare)),
    ofHttp(percent(clientErrorShare)),
    ofHttp(milliseconds(p50Ms)),
    ofHttp(milliseconds(p99Ms)),
    String(openConnections),
    mtlsShare === undefined ? "-" : percent(mtlsShare),
  ];
}

/** `catalogue v2`: the label of a version alone says too little. */
function nameOf({ nodes }: TrafficGraph, id: string): string {
  const node = nodes.find((each) => each.id === id);
  if (node === undefined) return id;
  return node.kind === "version" ? `${node.service ?? ""} ${node.label}`.trim() : node.label;
}

function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
}

function percent(share: number): string {
  return `${share === 0 || share === 1 ? share * 100 : (share * 100).toFixed(1)} %`;
}

function milliseconds(value: number | undefined): string {
  return value === undefined ? "-" : `${figure(value)} ms`;
}
