import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "vitest";
import { map, message, nested, repeatedString, string } from "../src/protobuf/wire/message.ts";
import { freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { needs } from "../test/support/needs.ts";
import { until } from "../test/support/wait/until.ts";
import { startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";

beforeEach(needs("envoy", "dig"));

const nameInfo = message({ ips: repeatedString(1), registry: string(2), shortname: string(3), namespace: string(4) });
const nameTable = message({ table: map(1, nested(2, nameInfo)) });

const dig = async (port: number, ...words: string[]) => {
  const { stdout } = await promisify(execFile)("dig", [
    "@127.0.0.1",
    "-p",
    String(port),
    "+time=3",
    "+tries=1",
    ...words,
  ]);
  return stdout;
};

test("names of the mesh's table are answered over UDP and TCP once the control plane has sent it", async () => {
  const [port = 0] = await freePorts(1);
  const table = nameTable.encode({
    table: new Map([
      ["web.ns.svc.cluster.local", { ips: ["10.1.2.3"], registry: "Kubernetes", shortname: "web", namespace: "ns" }],
    ]),
  });
  await using controlPlane = await startMeshControlPlane({
    resources: () => [{ name: "nds", type: "istio.networking.nds.v1.NameTable", body: table }],
  });
  const env = { ISTIO_META_DNS_CAPTURE: "true", DNS_PROXY_ADDR: `127.0.0.1:${port}` };
  await using agent = await startAgentProcess({ controlPlane, env });
  await agent.untilReady();
  for (const transport of ["+notcp", "+tcp"]) {
    expect(await dig(port, "+short", transport, "web.ns.svc.cluster.local", "A")).toBe("10.1.2.3\n");
  }
  expect(await dig(port, "web.ns.svc.cluster.local", "AAAA")).toMatch(/status: NOERROR.*\n.*ANSWER: 0/);
  expect(await dig(port, "+short", "web.ns", "A")).toContain("10.1.2.3");
  const shown = await agent.get("status", "/debug/ndsz");
  expect(shown.status).toBe(200);
  expect(JSON.parse(shown.body)).toMatchObject({ table: { "web.ns.svc.cluster.local": { ips: ["10.1.2.3"] } } });
});

test("the agent is not ready before the first name table, and says so", async () => {
  const [port = 0] = await freePorts(1);
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  const env = { ISTIO_META_DNS_CAPTURE: "true", DNS_PROXY_ADDR: `127.0.0.1:${port}` };
  await using agent = await startAgentProcess({ controlPlane, env });
  await until(async () => {
    const { status, body } = await agent.get("status", "/healthz/ready");
    return status === 503 && body.startsWith("dns: ") ? undefined : `${status} ${body}`;
  });
});

test("a DNS address that is taken ends the agent with a clear error", async () => {
  await using controlPlane = await startMeshControlPlane({ resources: () => [] });
  const port = controlPlane.port;
  const env = { ISTIO_META_DNS_CAPTURE: "true", DNS_PROXY_ADDR: `127.0.0.1:${port}` };
  await using agent = await startAgentProcess({ controlPlane, env });
  expect(await agent.exited).toBe(255);
  expect(agent.stderr()).toContain("failed to start local DNS server: ");
  expect(agent.stderr()).toContain(String(port));
});
