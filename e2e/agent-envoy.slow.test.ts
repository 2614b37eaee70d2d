import { beforeEach, expect, test } from "vitest";
import { startAgentProcess } from "../test/support/agent-process.ts";
import { startMeshControlPlane } from "../test/support/mesh-control-plane.ts";
import { needs } from "../test/support/needs.ts";

beforeEach(needs("envoy"));

test("a binary that cannot be executed is tried ten times, told apart from a crash, and given up within a minute", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane, proxyConfig: { binaryPath: "/nonexistent/envoy" } });
  expect(await agent.exited).toBe(82);
  expect(agent.stdout()).toContain("/nonexistent/envoy");
});
