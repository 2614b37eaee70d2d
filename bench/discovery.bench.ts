import type { Bench, BenchContext, BenchRow } from "./bench.ts";
import { startChild } from "./child.ts";
import { writeChanging, writeNew } from "./discovery/mesh-files.ts";
import type { ProxiesAnswer, ProxiesRequest } from "./discovery/messages.ts";
import type { Accepts } from "./discovery/open-stream.ts";
import { type MeasuredServer, startServer, useServer } from "./discovery/server.ts";

const PROXIES = 100;
const SERVICES = 1000;
/** Of each change; the middle one is shown, by when V8 has compiled what a control plane does all day. */
const CHANGES = 15;

interface Figures {
  readonly firstMs: number;
  readonly firstMegabytes: number;
  readonly firstCpuMs: number;
  readonly endpointMs: number;
  readonly endpointMegabytes: number;
  readonly endpointCpuMs: number;
  readonly serviceMs: number;
  readonly serviceMegabytes: number;
  readonly serviceCpuMs: number;
  readonly rss: number;
  readonly peakRss: number;
}

/**
 * State-of-the-world proxies over plaintext ADS: from nothing to everything, and from a written file to the last proxy's answer. They
 * take compressed answers as our agents do, unless a row says otherwise; megabytes are those of their sockets.
 */
const discovery: Bench = {
  name: "discovery",
  async run({ note, program, peer }: BenchContext) {
    const ours = (services: number) => startServer(program, services);
    note(`${PROXIES} proxies x ${SERVICES} services`);
    const main = await measure(() => ours(SERVICES), PROXIES);
    note(`${PROXIES} proxies x ${SERVICES} services, without compression`);
    const plain = await measure(() => ours(SERVICES), PROXIES, { accepts: "identity" });
    note(`${PROXIES} proxies x ${SERVICES / 10} services`);
    const fewServices = await measure(() => ours(SERVICES / 10), PROXIES);
    note(`10 proxies x ${SERVICES} services`);
    const fewProxies = await measure(() => ours(SERVICES), 10);
    note(`200 proxies x ${SERVICES} services`);
    const manyProxies = await measure(() => ours(SERVICES), 200);
    note(`${PROXIES} proxies x ${SERVICES} services, delta`);
    const delta = await measure(() => ours(SERVICES), PROXIES, { protocol: "delta" });
    const other = peer === undefined ? undefined : await measure(() => startPeer(peer), PROXIES);
    return [
      ...figureRows(main, other),
      // Clients that take no compression are such as Envoy connected without an agent.
      ...otherwiseRows("without compression", plain, {
        to: "compressed",
        main,
        without: ["endpointMegabytes", "endpointCpuMs", "rss"],
      }),
      // The incremental protocol is the agents' default.
      ...otherwiseRows("delta", delta, {
        to: "SotW",
        main,
        without: ["firstCpuMs", "endpointMs", "endpointMegabytes", "endpointCpuMs", "rss"],
      }),
      ...exponentRows("services 100 to 1,000", fewServices, main, 10),
      ...exponentRows("proxies 10 to 200", fewProxies, manyProxies, 20),
      ...growthRows(fewProxies, manyProxies, 190),
    ];
  },
};

export default discovery;

/** `PEER` is a program with istiod's flags, or HOST:PORT of a running server whose directory is PEER_CONFIG_DIR. */
function startPeer(peer: string): Promise<MeasuredServer> {
  if (!/^[^/]+:\d+$/.test(peer)) return startServer(peer, SERVICES);
  const { PEER_CONFIG_DIR, PEER_PID } = process.env;
  if (PEER_CONFIG_DIR === undefined) throw new Error("PEER_CONFIG_DIR must name the directory that the peer watches");
  const pid = PEER_PID === undefined ? undefined : Number(PEER_PID);
  return Promise.resolve(useServer(peer, PEER_CONFIG_DIR, pid, SERVICES));
}

async function measure(
  start: () => Promise<MeasuredServer>,
  proxies: number,
  { protocol = "sotw", accepts = "gzip" }: { protocol?: "sotw" | "delta"; accepts?: Accepts } = {},
): Promise<Figures> {
  await using server = await start();
  await using child = await startChild("discovery/proxies.ts");
  const send = (request: ProxiesRequest) => child.process.send(request);
  const now = () => performance.timeOrigin + performance.now();

  const cpu = () => server.usage()?.cpuMs ?? Number.NaN;
  const [begin, cpuBefore] = [now(), cpu()];
  send({ op: "connect", target: server.target, count: proxies, protocol, accepts });
  const first = await child.next<ProxiesAnswer>();
  const firstCpuMs = cpu() - cpuBefore;
  const change = async (types: readonly string[], text: string, write: () => void) => {
    send({ op: "expect", types, text });
    await child.next<"ready">();
    const [written, used] = [now(), cpu()];
    write();
    const answer = await child.next<ProxiesAnswer>();
    return { ms: answer.at - written, megabytes: answer.bytes / 1e6, cpuMs: cpu() - used };
  };
  const endpoints: Change[] = [];
  const services: Change[] = [];
  for (let index = 1; index <= CHANGES; index += 1) {
    const address = `10.99.9.${index}`;
    endpoints.push(await change(["EDS"], address, () => writeChanging(server.configDir, address)));
    const name = `new-${index}`;
    const host = `outbound|80||${name}.default`;
    services.push(await change(["CDS", "EDS", "RDS"], host, () => writeNew(server.configDir, name, index)));
  }
  const usage = server.usage();
  return {
    firstMs: first.at - begin,
    firstMegabytes: first.bytes / 1e6,
    firstCpuMs,
    endpointMs: median(endpoints, ({ ms }) => ms),
    endpointMegabytes: median(endpoints, ({ megabytes }) => megabytes),
    endpointCpuMs: median(endpoints, ({ cpuMs }) => cpuMs),
    serviceMs: median(services, ({ ms }) => ms),
    serviceMegabytes: median(services, ({ megabytes }) => megabytes),
    serviceCpuMs: median(services, ({ cpuMs }) => cpuMs),
    rss: usage?.rss ?? Number.NaN,
    peakRss: usage?.peakRss ?? Number.NaN,
  };
}

interface Change {
  readonly ms: number;
  readonly megabytes: number;
  readonly cpuMs: number;
}

function median(changes: readonly Change[], value: (change: Change) => number): number {
  const sorted = changes.map(value).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

type Key = keyof Figures;
type Line = readonly [key: Key, name: string, unit: string, goal?: string];

/** Goals hold for the run that others are compared with. */
const MEASURED: readonly Line[] = [
  ["firstMs", "first configuration of all", "ms", "<= 2500 (half of istiod's 5.0 s)"],
  ["firstMegabytes", "sent for it", "MB", "<= 87 (half of 173)"],
  ["firstCpuMs", "CPU of the server for it", "ms"],
  ["endpointMs", "endpoint change to the last answer", "ms", "<= 332 (half of 664)"],
  ["endpointMegabytes", "sent for it", "MB"],
  ["endpointCpuMs", "CPU of the server for it", "ms"],
  ["serviceMs", "new service to the last answer", "ms", "<= 700 (half of 1.4 s)"],
  ["serviceMegabytes", "sent for it", "MB", "<= 67 (half of 133)"],
  ["serviceCpuMs", "CPU of the server for it", "ms"],
  ["rss", "RSS", "MB", "<= 255 (half of 511)"],
  ["peakRss", "peak RSS", "MB", "<= 277 (half of 554)"],
];

function rowsOf(
  what: string,
  lines: readonly Line[],
  value: (key: Key) => number,
  than?: { readonly to: string; readonly figures: Figures },
): readonly BenchRow[] {
  return lines.map(([key, name, unit, goal]) => ({
    name: `${what}: ${name}`,
    value: value(key),
    unit,
    ...(goal !== undefined && { goal }),
    ...(than !== undefined && { ratio: { to: than.to, value: value(key) / than.figures[key] } }),
  }));
}

function figureRows(figures: Figures, peer: Figures | undefined): readonly BenchRow[] {
  const than = peer === undefined ? undefined : { to: "PEER", figures: peer };
  return rowsOf(`${PROXIES} x ${SERVICES}`, MEASURED, (key) => figures[key], than);
}

/** The same work done in another way; figures in which that makes no difference are left out. */
function otherwiseRows(
  what: string,
  figures: Figures,
  { to, main, without }: { readonly to: string; readonly main: Figures; readonly without: readonly Key[] },
): readonly BenchRow[] {
  const lines = MEASURED.filter(([key]) => !without.includes(key));
  const unbound = lines.map(([key, name, unit]): Line => [key, name, unit]);
  return rowsOf(what, unbound, (key) => figures[key], { to, figures: main });
}

/** 1 is linear, 0 is no growth. */
function exponentRows(what: string, small: Figures, large: Figures, factor: number): readonly BenchRow[] {
  const line = (key: Key, name: string): Line => [key, name, "exponent", "<= 1"];
  const lines = [
    line("firstMs", "first configuration"),
    line("firstCpuMs", "CPU for it"),
    line("endpointMs", "endpoint change"),
    line("endpointCpuMs", "CPU for it"),
    line("serviceMs", "new service"),
    line("serviceCpuMs", "CPU for it"),
    line("peakRss", "peak RSS"),
  ];
  return rowsOf(what, lines, (key) => Math.log(large[key] / small[key]) / Math.log(factor));
}

/** What one more proxy costs, for working out meshes that no test machine can hold. */
function growthRows(small: Figures, large: Figures, more: number): readonly BenchRow[] {
  const lines: readonly Line[] = [
    ["rss", "RSS", "MB"],
    ["peakRss", "peak RSS", "MB"],
    ["firstCpuMs", "CPU of its first configuration", "ms"],
    ["endpointCpuMs", "CPU of an endpoint change", "ms"],
    ["serviceCpuMs", "CPU of a new service", "ms"],
  ];
  const what = `one more proxy at ${SERVICES} services`;
  return rowsOf(what, lines, (key) => (large[key] - small[key]) / more);
}
