import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AgentProcess, fetchText, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { startDiscoveryProcess } from "../test/support/discovery/process.ts";
import { envoyPath } from "../test/support/needs.ts";
import { freePorts } from "../test/support/net/free-ports.ts";
import type { Bench, BenchRow } from "./bench.ts";

const RUNS = Number(process.env.RUNS ?? 9);
const POLL_MS = 3;
const LIMIT_MS = 20_000;

const KEYS = [
  { name: "RSA 2048", env: { ECC_SIGNATURE_ALGORITHM: "" }, goal: "not slower than the peer" },
  { name: "RSA 4096", env: { ECC_SIGNATURE_ALGORITHM: "", WORKLOAD_RSA_KEY_SIZE: "4096" } },
  { name: "P-256", env: { ECC_SIGNATURE_ALGORITHM: "ECDSA" } },
];

interface ControlPlane {
  readonly port: number;
  readonly rootFile: string;
  token(namespace: string, account: string): Promise<string>;
}

interface Times {
  readonly spawned: number[];
  readonly agent: number[];
  readonly ready: number[];
}

/**
 * From the start of `proxy` until Envoy's readiness port answers 200, as a pod has it: inbound and outbound mutual TLS listeners, which
 * Envoy warms only when the workload's certificate is there, and a new key for it. Programs take turns. CONTROL_PLANE=host:port with
 * CONTROL_PLANE_ROOT and CONTROL_PLANE_TOKEN (files) measures against another control plane; PEER_TEMPLATE is the bootstrap template of
 * a peer that needs one.
 */
const ready: Bench = {
  name: "ready",
  async run({ program, peer, note }) {
    await using controlPlane = await openControlPlane();
    const template = process.env.PEER_TEMPLATE;
    const programs: { path: string; env: Record<string, string> }[] = [{ path: program, env: {} }];
    if (peer !== undefined)
      programs.push({ path: peer, env: template === undefined ? {} : { ISTIO_BOOTSTRAP: template } });
    const rows: BenchRow[] = [];
    for (const key of KEYS) {
      note(`${key.name}, ${RUNS} runs each, medians`);
      const bare: number[] = [];
      const times = programs.map((): Times => ({ spawned: [], agent: [], ready: [] }));
      for (let run = 0; run <= RUNS; run += 1) {
        // How busy the machine is: the runtime alone, in the same minute.
        const before = performance.now();
        execFileSync(process.execPath, ["-e", ""], { env: { PATH: process.env.PATH } });
        bare.push(performance.now() - before);
        for (const [index, { path, env }] of programs.entries()) {
          const measured = await startOnce(path, controlPlane, { ...env, ...key.env });
          if (run === 0) continue; // the first one warms the file caches
          for (const figure of ["spawned", "agent", "ready"] as const) times[index]?.[figure].push(measured[figure]);
        }
      }
      rows.push(...rowsOf(key, times, median(bare)));
    }
    return rows;
  },
};

export default ready;

function rowsOf(key: (typeof KEYS)[number], times: readonly Times[], bareMs: number): BenchRow[] {
  const [own, peer] = times.map(({ spawned, agent, ready: all }) => ({
    spawned: median(spawned),
    agent: median(agent),
    ready: median(all),
  }));
  if (own === undefined) return [];
  const row = (name: string, figure: keyof Times, goal?: string): BenchRow[] => [
    {
      name: `${key.name}: ${name}`,
      value: own[figure],
      unit: "ms",
      ratio:
        peer === undefined
          ? { to: "node -e ''", value: own[figure] / bareMs }
          : { to: "the peer", value: own[figure] / peer[figure] },
      ...(goal === undefined ? {} : { goal }),
    },
    ...(peer === undefined ? [] : [{ name: `${key.name}: ${name} (peer)`, value: peer[figure], unit: "ms" }]),
  ];
  return [
    ...row("exec to 200 on the readiness port", "ready", key.goal),
    ...row("exec to Envoy's start", "spawned", "at most 2 x the peer"),
    ...row("exec to the agent's own status port", "agent"),
  ];
}

async function openControlPlane(): Promise<ControlPlane & AsyncDisposable> {
  const given = process.env.CONTROL_PLANE;
  if (given !== undefined) {
    const [rootFile, tokenFile] = [process.env.CONTROL_PLANE_ROOT ?? "", process.env.CONTROL_PLANE_TOKEN ?? ""];
    return {
      port: Number(given.slice(given.lastIndexOf(":") + 1)),
      rootFile,
      token: async () => readFileSync(tokenFile, "utf8"),
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  const [http, grpc, secureGrpc, monitoring] = (await freePorts(4)) as [number, number, number, number];
  const discovery = await startDiscoveryProcess({
    ports: { host: "127.0.0.1", http, grpc, secureGrpc, monitoring },
    files: { "mesh.yaml": services() },
    isReady: async () => (await fetchText(http, "/ready").catch(() => undefined))?.status === 200,
  });
  return {
    port: secureGrpc,
    rootFile: discovery.rootFile,
    token: (namespace, account) => discovery.token(namespace, account),
    [Symbol.asyncDispose]: () => discovery[Symbol.asyncDispose](),
  };
}

/** The workload itself with two ports, and twenty services it may call, all of the mesh. */
function services(): string {
  const entry = (name: string, address: string, ports: readonly { number: number; name: string; protocol: string }[]) =>
    JSON.stringify({
      apiVersion: "networking.istio.io/v1",
      kind: "ServiceEntry",
      metadata: { name, namespace: "ns" },
      spec: {
        hosts: [`${name}.ns.svc.cluster.local`],
        addresses: [address],
        location: "MESH_INTERNAL",
        resolution: "STATIC",
        ports,
        endpoints: [{ address: name === "app" ? "127.0.0.1" : "127.0.0.9", serviceAccount: name }],
      },
    });
  const strict = {
    apiVersion: "security.istio.io/v1",
    kind: "PeerAuthentication",
    metadata: { name: "default", namespace: "istio-system" },
    spec: { mtls: { mode: "STRICT" } },
  };
  const http = { number: 8080, name: "http", protocol: "HTTP" };
  const own = entry("app", "240.0.0.1", [http, { number: 9000, name: "tcp", protocol: "TCP" }]);
  const others = Array.from({ length: 20 }, (_, index) => entry(`service-${index}`, `240.0.1.${index + 1}`, [http]));
  return [JSON.stringify(strict), own, ...others].join("\n---\n");
}

async function startOnce(path: string, controlPlane: ControlPlane, env: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), "bench-ready-"));
  try {
    // The time of Envoy's start is that of a file which is written right before it; the same for every program.
    const [envoy, started] = [join(folder, "envoy"), join(folder, "started")];
    const script = `#!/bin/sh\n[ "$1" = --help ] || : > ${started}\nexec ${envoyPath()} "$@"\n`;
    writeFileSync(envoy, script, { mode: 0o755 });
    // The shell takes the launcher's place in the command line, the same for every program.
    const wrapper = ["sh", "-c", `shift; exec "${path}" "$@"`, "sh"];
    const startedAt = Date.now();
    // By the ProxyConfig, which every program reads.
    await using agent = await startAgentProcess({ controlPlane, wrapper, env, proxyConfig: { binaryPath: envoy } });
    const start = performance.now();
    const since = async (port: number, wanted: (status: number) => boolean) => {
      for (;;) {
        const answer = await fetchText(port, "/healthz/ready").catch(() => undefined);
        const ms = performance.now() - start;
        if (answer !== undefined && wanted(answer.status)) return ms;
        if (ms > LIMIT_MS) throw new Error(`${path} is not ready after ${LIMIT_MS} ms: ${agent.stdout().slice(-2000)}`);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    };
    const agentMs = await since(agent.ports.status, () => true);
    const readyMs = await since(agent.ports.envoyStatus, (status) => status === 200);
    const spawned = statSync(started).mtimeMs - startedAt;
    await endWhole(agent);
    return { spawned, agent: agentMs, ready: readyMs };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A peer that is killed may leave its Envoy behind, which would slow the next runs down. */
async function endWhole(agent: AgentProcess): Promise<void> {
  const envoys = await agent.envoyPids();
  agent.kill("SIGKILL");
  await agent.exited;
  for (const pid of envoys) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended with its agent.
    }
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
