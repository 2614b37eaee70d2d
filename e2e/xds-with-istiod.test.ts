import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fetchText, freePorts } from "../test/support/agent/agent-process.ts";
import { type DiscoveryProcess, startDiscoveryProcess } from "../test/support/discovery/process.ts";
import { serviceEntry } from "../test/support/discovery/rules.ts";
import { envoyPath, needs } from "../test/support/needs.ts";
import { until } from "../test/support/wait/until.ts";

/**
 * The documented way to a control plane that runs somewhere: an address, a token file, a root file. With ISTIOD_ADDRESS, ISTIOD_TOKEN and
 * ISTIOD_ROOT in the environment that one is used, whoever made it; else our own.
 */
const given = { address: process.env.ISTIOD_ADDRESS, token: process.env.ISTIOD_TOKEN, root: process.env.ISTIOD_ROOT };
const script = resolve(import.meta.dirname, "../scripts/with-istiod.mjs");
const run = promisify(execFile);

let folder = "";
let own: DiscoveryProcess | undefined;
let files = { address: "", token: "", root: "" };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "with-istiod-test-"));
  if (given.address && given.token && given.root) {
    files = { address: given.address, token: given.token, root: given.root };
    return;
  }
  const [http = 0, grpc = 0, secureGrpc = 0, monitoring = 0] = await freePorts(4);
  own = await startDiscoveryProcess({
    ports: { host: "127.0.0.1", http, grpc, secureGrpc, monitoring },
    files: {
      "web.yaml": serviceEntry({
        name: "web",
        vip: "10.96.0.20",
        ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: 80 }],
        endpoints: [],
      }),
    },
    isReady: async () => (await fetchText(http, "/ready").catch(() => undefined))?.status === 200,
  });
  writeFileSync(join(folder, "token"), await own.token("shop", "cart"));
  files = { address: `localhost:${secureGrpc}`, token: join(folder, "token"), root: own.rootFile };
});
afterAll(async () => {
  await own?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function withIstiod(words: readonly string[], env: Record<string, string> = {}): Promise<ChildProcess> {
  return spawn(process.execPath, [script, ...words], {
    cwd: folder,
    stdio: "ignore",
    env: { PATH: process.env.PATH, ENVOY_BIN: envoyPath(), CLOUD_PLATFORM: "none", ...env },
  });
}

describe("with Envoy", () => {
  beforeEach(needs("envoy"));

  test("a sidecar of the token's account is certified, configured and ready, and ends with the script", async () => {
    const [admin = 0, status = 0, envoyStatus = 0, prometheus = 0] = await freePorts(4);
    const pod = join(folder, "pod");
    mkdirSync(pod);
    const child = await withIstiod([files.address, files.token, files.root, "--folder", pod, "--name", "laptop"], {
      PROXY_CONFIG: JSON.stringify({ proxyAdminPort: admin, statusPort: status, terminationDrainDuration: "0s" }),
      ENVOY_STATUS_PORT: String(envoyStatus),
      ENVOY_PROMETHEUS_PORT: String(prometheus),
      PROXY_XDS_DEBUG_VIA_AGENT: "false",
      // No listener for captured traffic: their ports are one per machine.
      ISTIO_META_INTERCEPTION_MODE: "NONE",
    });
    const ended = once(child, "exit");
    try {
      await until(async () => {
        const ready = await fetchText(status, "/healthz/ready").catch((thrown: Error) => ({
          status: 0,
          body: thrown.message,
        }));
        if (ready.status !== 200) return `not ready: ${ready.status} ${ready.body}`;
        // The first certificate may come after readiness: no listener here needs it.
        return (await fetchText(status, "/debug/certs")).body.includes("spiffe://") || "no certificate yet";
      });
      const [certificates, streams, stats] = await Promise.all([
        fetchText(status, "/debug/certs"),
        fetchText(status, "/debug/xdsz"),
        fetchText(admin, "/stats?filter=update_(rejected|success)"),
      ]);
      const account = given.address
        ? /spiffe:\/\/[^"]+\/ns\/[^"]+\/sa\/[^"]+/
        : /spiffe:\/\/cluster\.local\/ns\/shop\/sa\/cart/;
      expect(certificates.body).toMatch(account);
      expect(JSON.parse(streams.body)).toMatchObject([{ primary: true, source: "control-plane" }]);
      expect(stats.body).toMatch(/cluster_manager\.cds\.update_success: [1-9]/);
      expect(stats.body).toMatch(/listener_manager\.lds\.update_success: [1-9]/);
      expect(stats.body).not.toMatch(/update_rejected: [1-9]/);
    } finally {
      child.kill("SIGTERM");
    }
    expect(await ended).toEqual([0, null]);
  });
});

test.each([
  ["no words at all", () => [], "usage: node scripts/with-istiod.mjs"],
  ["a word too many", () => [files.address, files.token, files.root, "more"], "usage: node scripts/with-istiod.mjs"],
  ["an unknown flag", () => ["--adress", "x"], "Unknown option '--adress'"],
  ["an address without a port", () => ["istiod", files.token, files.root], "istiod is not an address: HOST:PORT"],
  ["a token that is not there", () => [files.address, "gone", files.root], "cannot read the token gone"],
  ["a root file without a certificate", () => [files.address, files.token, files.token], "holds no certificate in PEM"],
] as const)("%s is reported without a stack, and ends with 2", async (_, words, text) => {
  const failure = await run(process.execPath, [script, ...words()], { cwd: folder }).catch((thrown: unknown) => thrown);
  expect(failure).toMatchObject({ code: 2, stderr: expect.stringContaining(text) });
  expect(failure).toMatchObject({ stderr: expect.not.stringContaining("    at ") });
});
