import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { envoyPath, needs } from "../test/support/needs.ts";
import { createNetns } from "../test/support/netns/netns.ts";
import { PROGRAM } from "../test/support/process/program.ts";
import { until } from "../test/support/wait/until.ts";

beforeEach(needs("envoy", "root", "netns"));

test("on the well-known ports of a pod, request reaches Envoy and the agent, and wait says why it gave up", async () => {
  await using pod = await createNetns({ addresses: ["10.66.0.2/24"] });
  const folder = mkdtempSync(join(tmpdir(), "agent-ports-"));
  const env = {
    ENVOY_BIN: envoyPath() ?? "",
    POD_NAME: "p",
    POD_NAMESPACE: "ns",
    CLOUD_PLATFORM: "none",
    ECC_SIGNATURE_ALGORITHM: "ECDSA",
    // No one answers there: this is about ports, not about a control plane.
    CA_ADDR: "10.66.0.2:15010",
    PROXY_CONFIG: JSON.stringify({
      controlPlaneAuthPolicy: "NONE",
      discoveryAddress: "10.66.0.2:15010",
      terminationDrainDuration: "0s",
      configPath: join(folder, "proxy"),
    }),
  };
  const agent = pod.spawn("sh", ["-c", 'cd "$1" && exec "$2" proxy sidecar', "sh", folder, PROGRAM], env);
  try {
    const ask = (...words: string[]) => pod.exec(PROGRAM, ["request", ...words]);
    await until(async () => {
      const { code, stderr } = await ask("GET", "server_info");
      return code === 0 ? undefined : stderr;
    });
    const info = await ask("GET", "/server_info");
    expect(JSON.parse(info.stdout)).toHaveProperty("state");
    expect((await ask("--debug-port=15020", "GET", "version")).stdout).toContain('"version"');
    const notReady = await ask("--debug-port=15020", "GET", "healthz/ready");
    expect(notReady.code).toBe(255);
    expect(notReady.stderr).toMatch(/^Error: received unsuccessful status code 503: envoy: /);
    expect((await ask("--debug-port=15020", "GET", "no/such/path")).stdout).toContain("404");
    const waited = await pod.exec(PROGRAM, ["wait", "--timeoutSeconds=1", "--periodMillis=100"]);
    expect(waited.code).toBe(255);
    expect(waited.stderr).toContain("timeout waiting for Envoy proxy to become ready. Last error: ");
    expect((await ask("--debug-port=15020", "POST", "drain")).stdout).toBe("OK\n");
    expect((await ask("--debug-port=15020", "POST", "quitquitquit")).stdout).toBe("OK\n");
    await until(async () => (agent.exitCode === null ? "still running" : undefined));
    expect(agent.exitCode).toBe(0);
  } finally {
    if (agent.exitCode === null) agent.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
});
