import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { selfSignedCertificate } from "../../test/support/certs/openssl-certificates.ts";
import { freePort } from "../../test/support/net/free-ports.ts";

export interface StatusAgent extends AsyncDisposable {
  readonly pid: number;
  readonly statusPort: number;
  /** Highest resident memory so far. */
  peakMb(): number;
}

/** An agent, ours or another, of which only the status port is used: no Envoy, and a control plane that nobody answers for. */
export async function startStatusAgent(
  program: string,
  source: { readonly port: number; readonly bytes: number },
): Promise<StatusAgent> {
  const folder = await mkdtemp(join(tmpdir(), "metrics-agent-"));
  const statusPort = await freePort();
  // Roots of nobody: the agent wants some, and goes on asking a control plane that is not there.
  for (const [path, text] of Object.entries({
    "istio/root-cert.pem": selfSignedCertificate().cert,
    "tokens/istio-token": "none",
  })) {
    const file = join(folder, "var/run/secrets", path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  const target = { port: String(source.port), path: `/metrics?bytes=${source.bytes}` };
  const child = spawn(program, ["proxy", "sidecar"], {
    cwd: folder,
    stdio: "ignore",
    env: {
      PATH: process.env.PATH,
      DISABLE_ENVOY: "true",
      CLOUD_PLATFORM: "none",
      INSTANCE_IP: "127.0.0.1",
      POD_NAME: "bench",
      POD_NAMESPACE: "ns",
      ISTIO_PROMETHEUS_ANNOTATIONS: JSON.stringify({ scrape: "true", ...target }),
      PROXY_CONFIG: JSON.stringify({ statusPort, discoveryAddress: "127.0.0.1:1" }),
    },
  });
  const deadline = Date.now() + 20_000;
  while (!(await isOpen(statusPort))) {
    if (Date.now() > deadline || child.exitCode !== null) throw new Error(`${program} does not open its status port`);
    await new Promise((again) => setTimeout(again, 50));
  }
  return {
    pid: child.pid ?? 0,
    statusPort,
    peakMb: () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1024,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
