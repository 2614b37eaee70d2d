import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "vitest";
import { CloseStack } from "../src/base/close-stack.ts";
import type { CertificateDescription } from "../src/identity/start-secret-manager.ts";
import { type AgentProcess, freePorts, startAgentProcess } from "../test/support/agent/agent-process.ts";
import { needs } from "../test/support/needs.ts";
import { fetchOk } from "../test/support/net/fetch-answer.ts";
import { startLoad } from "../test/support/net/start-load.ts";
import { until } from "../test/support/wait/until.ts";
import { type MeshControlPlane, startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";
import { httpListener, staticCluster } from "../test/support/xds/mesh-resources.ts";

beforeEach(needs("envoy", "openssl"));

const TTL_MS = 20_000;
const HALF_LIFE_MS = TTL_MS / 2;

interface Mesh extends AsyncDisposable {
  readonly controlPlane: MeshControlPlane;
  readonly server: AgentProcess;
  readonly client: AgentProcess;
  readonly clientPort: number;
}

/** A client and a server workload, each an agent with its Envoy, whose certificates live twenty seconds. */
async function startMesh(): Promise<Mesh> {
  await using opened = new CloseStack();
  const [serverPort = 0, clientPort = 0] = await freePorts(2);
  const controlPlane = opened.add(
    await startMeshControlPlane({
      maxTtlMs: TTL_MS,
      resources: (node) =>
        node.includes("~server.ns~")
          ? [httpListener({ name: "in", port: serverPort, answer: "secured", mutualTls: true, inbound: true })]
          : [
              httpListener({ name: "out", port: clientPort, cluster: "server" }),
              staticCluster("server", serverPort, true),
            ],
    }),
  );
  const env = { SECRET_TTL: "20s", OUTPUT_CERTS: "out" };
  const server = opened.add(await startAgentProcess({ name: "server", controlPlane, env }));
  const client = opened.add(await startAgentProcess({ name: "client", controlPlane, env }));
  await Promise.all([server.untilReady(), client.untilReady()]);
  const owned = opened.move();
  return { controlPlane, server, client, clientPort, [Symbol.asyncDispose]: () => owned.close() };
}

async function fetchSecured(port: number): Promise<string> {
  const body = await fetchOk(`http://127.0.0.1:${port}/`);
  if (body !== "secured") throw new Error(body);
  return body;
}

/** Of the certificate that is served now. */
async function serial(agent: AgentProcess): Promise<string> {
  const shown = JSON.parse((await agent.get("status", "/debug/certs")).body) as CertificateDescription[];
  const leaf = shown.find((each) => each.resource === "default")?.certificates[0];
  if (leaf === undefined) throw new Error(`no workload certificate in ${JSON.stringify(shown)}`);
  return leaf.serial;
}

test.concurrent("certificates of twenty seconds rotate five times under constant load without a failed request", async () => {
  await using mesh = await startMesh();
  const load = startLoad(() => fetchSecured(mesh.clientPort), { pauseMs: 5 });
  const first = mesh.controlPlane.issued;
  // Two workloads, five rotations each.
  await until(() => {
    const issued = mesh.controlPlane.issued - first;
    return issued >= 10 && load.requests > 500 ? undefined : `${issued} issued, ${load.requests} requests`;
  }, 180_000);
  await load.stop();
  expect(load.failures).toEqual([]);
  const verify = ["verify", "-CAfile", "out/root-cert.pem", "out/cert-chain.pem"];
  const { stdout } = await promisify(execFile)("openssl", verify, { cwd: mesh.server.folder });
  expect(stdout).toContain("cert-chain.pem: OK");
});

test.concurrent("a CA that is gone for a whole half-life costs no request, and rotation goes on afterwards", async () => {
  await using mesh = await startMesh();
  const load = startLoad(() => fetchSecured(mesh.clientPort), { pauseMs: 5 });
  // Both are young when the outage begins: a certificate about to be renewed would expire in it.
  const agents = [mesh.server, mesh.client];
  const before = await Promise.all(agents.map(serial));
  await until(async () => {
    const now = await Promise.all(agents.map(serial));
    return now.every((each, index) => each !== before[index]) ? undefined : "not rotated";
  });
  mesh.controlPlane.setCaDown(true);
  const downUntil = Date.now() + HALF_LIFE_MS;
  const last = await serial(mesh.server);
  await until(async () => (Date.now() > downUntil ? undefined : "still down"), HALF_LIFE_MS + 5000);
  expect(await serial(mesh.server)).toBe(last);

  mesh.controlPlane.setCaDown(false);
  await until(async () => ((await serial(mesh.server)) === last ? "not rotated again" : undefined));
  await load.stop();
  expect(load.failures).toEqual([]);
});
