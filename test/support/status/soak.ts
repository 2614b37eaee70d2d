import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createGrpcChannel } from "../../../src/grpc/client/create-grpc-channel.ts";
import { defineMethod } from "../../../src/grpc/method.ts";
import { discoveryRequest, discoveryResponse } from "../../../src/protobuf/wire/discovery.ts";
import { map, message, nested, repeatedString, string } from "../../../src/protobuf/wire/message.ts";
import { type AgentProcess, freePorts, startAgentProcess } from "../agent/agent-process.ts";
import { exchangeUdp, queryBytes } from "../dns/client.ts";
import { startHttpServer } from "../net/http-server.ts";
import { startLoad } from "../net/start-load.ts";
import { startMeshControlPlane } from "../xds/mesh-control-plane.ts";
import { fetchBytes } from "./scrape.ts";

/** Figures of the agent's process at one moment. */
export interface SoakSample {
  readonly minute: number;
  readonly anonymousMb: number;
  readonly descriptors: number;
  readonly work: Readonly<Record<string, number>>;
}

export interface SoakReport {
  readonly samples: readonly SoakSample[];
  readonly failures: Readonly<Record<string, number>>;
  /** Empty when memory and descriptors stayed flat and nothing failed. */
  readonly problems: readonly string[];
}

const CERTIFICATE_TTL_MS = 20_000;
const SAMPLES = 20;
/** The heap breathes; what grows with the work done goes far beyond. */
const MEMORY_SLACK_MB = 12;
const DESCRIPTOR_SLACK = 10;

const nameInfo = message({ ips: repeatedString(1), registry: string(2), shortname: string(3), namespace: string(4) });
const nameTable = message({ table: map(1, nested(2, nameInfo)) });
const streamResources = defineMethod({
  path: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
  kind: "bidi",
  request: discoveryRequest,
  response: discoveryResponse,
});

/** One agent with its Envoy under DNS questions, scrapes, probes, xDS streams and certificates that live twenty seconds. */
export async function soak(minutes: number, note: (text: string) => void): Promise<SoakReport> {
  const [dnsPort = 0] = await freePorts(1);
  const entry = { ips: ["10.1.2.3"], registry: "Kubernetes", shortname: "web", namespace: "ns" };
  const table = nameTable.encode({ table: new Map([["web.ns.svc.cluster.local", entry]]) });
  await using controlPlane = await startMeshControlPlane({
    maxTtlMs: CERTIFICATE_TTL_MS,
    resources: () => [{ name: "nds", type: "istio.networking.nds.v1.NameTable", body: table }],
  });
  await using app = await startHttpServer(
    (request, response) => void response.end(request.url === "/metrics" ? metricsBody() : "fine"),
  );
  await using agent = await startAgentProcess({
    controlPlane,
    env: {
      ISTIO_META_DNS_CAPTURE: "true",
      DNS_PROXY_ADDR: `127.0.0.1:${dnsPort}`,
      SECRET_TTL: `${CERTIFICATE_TTL_MS / 1000}s`,
      ISTIO_PROMETHEUS_ANNOTATIONS: JSON.stringify({ scrape: "true", path: "/metrics", port: String(app.port) }),
      ISTIO_KUBE_APP_PROBERS: JSON.stringify({
        "/app-health/app/livez": { httpGet: { path: "/", port: app.port }, timeoutSeconds: 5 },
      }),
    },
  });
  await agent.untilReady();
  const { status } = agent.ports;
  const expectOk = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await fetchBytes(status, path, headers);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
  };
  const question = queryBytes({ name: "web.ns.svc.cluster.local" });
  const load = startJobs({
    dns: { pauseMs: 2, run: async () => void (await exchangeUdp({ host: "127.0.0.1", port: dnsPort }, question)) },
    scrape: { pauseMs: 50, run: () => expectOk("/stats/prometheus") },
    packedScrape: { pauseMs: 100, run: () => expectOk("/stats/prometheus", { "accept-encoding": "gzip" }) },
    probe: { pauseMs: 20, run: () => expectOk("/app-health/app/livez") },
    ready: { pauseMs: 50, run: () => expectOk("/healthz/ready") },
    xds: { pauseMs: 50, run: () => openStream(join(agent.folder, "etc/istio/proxy/XDS")) },
  });
  const samples: SoakSample[] = [];
  const startedAt = performance.now();
  for (let index = 0; index < SAMPLES; index++) {
    await new Promise((next) => setTimeout(next, (minutes * 60_000) / SAMPLES));
    const sample = {
      ...look(agent, (performance.now() - startedAt) / 60_000),
      work: { ...load.done(), certificates: controlPlane.issued },
    };
    samples.push(sample);
    note(
      `${sample.minute.toFixed(1)} min: ${sample.anonymousMb.toFixed(1)} MB, ${sample.descriptors} descriptors, ${JSON.stringify(sample.work)}`,
    );
  }
  await load.stop();
  return { samples, failures: load.failed(), problems: judge(samples, load.failed()) };
}

interface Job {
  readonly pauseMs: number;
  run(): Promise<void>;
}

/** Each job in a loop of its own. */
function startJobs(jobs: Readonly<Record<string, Job>>) {
  const loads = Object.entries(jobs).map(([name, { pauseMs, run }]) => {
    const load = startLoad(() => run().then(() => "done"), { pauseMs });
    return { name, load };
  });
  return {
    done: () => Object.fromEntries(loads.map(({ name, load }) => [name, load.answers.get("done") ?? 0])),
    failed: () => {
      const times: Record<string, number> = {};
      for (const { name, load } of loads)
        for (const failure of load.failures) {
          const what = `${name}: ${failure.replace(/^request \d+: /, "")}`;
          times[what] = (times[what] ?? 0) + 1;
        }
      return times;
    },
    stop: () => Promise.all(loads.map(({ load }) => load.stop())),
  };
}

/** A second client of the agent's xDS socket: connects, gets the clusters, leaves. */
async function openStream(socketPath: string): Promise<void> {
  await using channel = createGrpcChannel(`unix:${socketPath}`);
  const call = await channel.bidi(streamResources, { timeoutMs: 10_000 });
  const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
  await call.write({ node: { id: "sidecar~10.0.0.1~soak.ns~ns.svc.cluster.local" }, typeUrl } as never);
  for await (const _response of call.responses) break;
}

function metricsBody(): string {
  let text = "# TYPE soak_requests_total counter\n";
  for (let row = 0; row < 2000; row++) text += `soak_requests_total{path="/items/${row}"} ${Date.now() % 1000}\n`;
  return text;
}

function look({ pid }: AgentProcess, minute: number): Omit<SoakSample, "work"> {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  return {
    minute,
    anonymousMb: Number(/^Anonymous:\s+(\d+)/m.exec(rollup)?.[1]) / 1024,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
  };
}

/** The first half warms up; then the last quarter must not be above the third. */
export function judge(samples: readonly SoakSample[], failures: Readonly<Record<string, number>>): string[] {
  const quarter = Math.floor(samples.length / 4);
  const third = samples.slice(2 * quarter, 3 * quarter);
  const last = samples.slice(3 * quarter);
  const lowest = (part: readonly SoakSample[], of: (sample: SoakSample) => number) => Math.min(...part.map(of));
  const memory = lowest(last, (sample) => sample.anonymousMb) - lowest(third, (sample) => sample.anonymousMb);
  const descriptors = lowest(last, (sample) => sample.descriptors) - lowest(third, (sample) => sample.descriptors);
  return [
    ...(memory > MEMORY_SLACK_MB ? [`memory grew by ${memory.toFixed(1)} MB`] : []),
    ...(descriptors > DESCRIPTOR_SLACK ? [`descriptors grew by ${descriptors}`] : []),
    ...Object.entries(failures).map(([what, count]) => `${count} times ${what}`),
  ];
}
