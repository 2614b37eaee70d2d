import { createServer } from "node:net";
import { beforeEach, expect, test } from "vitest";
import { startAgentProcess } from "../test/support/agent/agent-process.ts";
import { needs } from "../test/support/needs.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";

beforeEach(needs("envoy"));

test.concurrent("a binary that cannot be executed is tried ten times, distinguished from a crash, and given up", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane, proxyConfig: { binaryPath: "/nonexistent/envoy" } });
  expect(await agent.exited).toBe(82);
  expect(agent.stdout()).toContain("/nonexistent/envoy");
});

test.concurrent("an Envoy that is killed each time is given up, with a code of its own", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane });
  await agent.untilReady();
  let isRunning = true;
  const code = agent.exited.finally(() => {
    isRunning = false;
  });
  // The agent's clock decides when it gives up; how fast this machine starts ten Envoys is not the question here.
  await until(async () => {
    for (const pid of await agent.envoyPids()) process.kill(pid, "SIGKILL");
    return isRunning ? agent.stdout().slice(-2000) : undefined;
  }, 240_000);
  expect(await code).toBe(81);
  expect(agent.stdout()).toContain("Envoy may have been out of memory killed.");
});

test.concurrent("an Envoy that crashes each time is given up, with Envoy's own reason and a code of its own", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  const squatter = createServer().listen(0, "127.0.0.1");
  await new Promise((ready) => squatter.once("listening", ready));
  const { port } = squatter.address() as { port: number };
  await using agent = await startAgentProcess({ controlPlane, proxyConfig: { proxyAdminPort: port } });
  expect(await agent.exited).toBe(80);
  squatter.close();
  expect(agent.stdout()).toContain(`cannot bind '127.0.0.1:${port}': Address already in use`);
});
