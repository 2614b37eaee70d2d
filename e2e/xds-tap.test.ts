import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "vitest";
import { startAgentProcess } from "../test/support/agent/agent-process.ts";
import { needs } from "../test/support/needs.ts";
import { PROGRAM } from "../test/support/process/program.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";

beforeEach(needs("envoy"));

const ask = async (path: string) => {
  const { stdout } = await promisify(execFile)(PROGRAM, ["request", "--debug-port", "15004", "GET", path]);
  return stdout;
};

test("the control plane's debug pages are read through the agent, without touching Envoy's stream", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  await using agent = await startAgentProcess({ controlPlane, env: { PROXY_XDS_DEBUG_VIA_AGENT: "true" } });
  await agent.untilReady();
  const streams = async () => JSON.parse((await agent.get("status", "/debug/xdsz")).body) as { id: number }[];
  await until(async () => ((await streams()).length === 1 ? undefined : "Envoy is not connected"));
  const [before] = await streams();
  expect(JSON.parse(await ask("/debug/syncz"))).toMatchObject({ typeUrl: "istio.io/debug/syncz" });
  expect(JSON.parse(await ask("debug/config_dump?resourceName=x"))).toMatchObject({
    typeUrl: "istio.io/debug/config_dump",
  });
  expect((await streams()).map(({ id }) => id)).toEqual([before?.id]);
});
