import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { freePorts } from "../test/support/agent/agent-process.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";

const library = resolve(import.meta.dirname, "../dist/index.js");

/** A program of another party that embeds the agent without Envoy, waits until it is ready, and stops it. */
const PROGRAM = `
import { chooseGeneration, createLog, defaultProxyFlags, readAgentConfig, startAgent } from ${JSON.stringify(library)};
const log = createLog(() => Date.now());
const generation = chooseGeneration(undefined);
const config = await readAgentConfig({ args: ["sidecar"], flags: defaultProxyFlags(generation), env: process.env, log: log.logger, uid: process.getuid() });
const agent = await startAgent({ config, env: process.env, log, uptimeMs: () => performance.now() });
for (;;) {
  const { status } = await fetch("http://127.0.0.1:" + agent.statusPort + "/healthz/ready");
  if (status === 200) break;
  await new Promise((again) => setTimeout(again, 20));
}
await agent.stop();
console.log("embedded and stopped");
`;

test("the agent runs inside another Node program and leaves nothing that keeps it alive", async () => {
  const folder = mkdtempSync(join(tmpdir(), "library-"));
  try {
    await using controlPlane = await startMeshControlPlane({ resources: () => [] });
    const [statusPort = 0] = await freePorts(1);
    mkdirSync(join(folder, "var/run/secrets/istio"), { recursive: true });
    mkdirSync(join(folder, "var/run/secrets/tokens"), { recursive: true });
    cpSync(controlPlane.rootFile, join(folder, "var/run/secrets/istio/root-cert.pem"));
    writeFileSync(join(folder, "var/run/secrets/tokens/istio-token"), await controlPlane.token("ns", "app"));
    writeFileSync(join(folder, "program.mjs"), PROGRAM);
    const env = {
      PATH: process.env.PATH,
      POD_NAME: "app",
      POD_NAMESPACE: "ns",
      SERVICE_ACCOUNT: "app",
      CLOUD_PLATFORM: "none",
      DISABLE_ENVOY: "true",
      OUTPUT_CERTS: "out",
      ECC_SIGNATURE_ALGORITHM: "ECDSA",
      PROXY_CONFIG: JSON.stringify({ statusPort, discoveryAddress: `localhost:${controlPlane.port}` }),
    };
    const { stdout } = await promisify(execFile)(process.execPath, ["program.mjs"], {
      cwd: folder,
      env,
      timeout: 90_000,
    });
    expect(stdout).toContain("embedded and stopped");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
