import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { type MeshWorkload, startDiscoveryMesh } from "../test/support/discovery/mesh.ts";
import { hostOf, serviceEntry, virtualService } from "../test/support/discovery/rules.ts";
import { needs } from "../test/support/needs.ts";
import { startLoad } from "../test/support/net/start-load.ts";
import { until } from "../test/support/wait/until.ts";

beforeEach(needs("envoy", "root", "netns", "iptables", "setpriv"));

const VIP = "10.96.0.30";
const SERVER = "10.10.2.1";

const BATCH = 25;

/** Each request of the load is a batch of calls. */
const startCalls = (client: MeshWorkload) =>
  startLoad(async () => {
    const call = { address: VIP, port: 80, host: hostOf("web"), count: BATCH, concurrency: 5, fresh: true };
    const failed = (await client.http(call)).filter(({ status }) => status !== 200);
    if (failed.length > 0)
      throw new Error(failed.map(({ status, body, error }) => `${status} ${body}${error ?? ""}`).join());
    return "all answered";
  });

test("the control plane is killed and started again under traffic: no request is lost, the root stays, rules arrive", async () => {
  const ports = [{ number: 80, name: "http", protocol: "HTTP", targetPort: 8080 }];
  const endpoints = [{ address: SERVER, serviceAccount: "server" }];
  await using mesh = await startDiscoveryMesh({
    files: { "services.yaml": serviceEntry({ name: "web", vip: VIP, ports, endpoints }) },
    workloads: [
      { name: "client", address: "10.10.1.1" },
      { name: "server", address: SERVER },
    ],
  });
  const [client, server] = [mesh.workload("client"), mesh.workload("server")];
  await server.listen({ kind: "http", port: 8080, name: "server" });
  await until(async () => {
    const [answer] = await client.http({ address: VIP, port: 80, host: hostOf("web") });
    return answer?.status === 200 ? undefined : `${answer?.status} ${answer?.error}`;
  });
  const root = readFileSync(mesh.controlPlane.rootFile, "utf8");
  const load = startCalls(client);
  const certificate = () => readFileSync(join(client.agent?.folder ?? "", "out/cert-chain.pem"), "utf8");
  const before = certificate();

  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    const askedBefore = load.requests;
    await mesh.controlPlane.restart(signal);
    // The new process knows both proxies again, and what it says from now on reaches them.
    mesh.controlPlane.write(
      "rule.yaml",
      virtualService("web", [{ name: `after-${signal}`, route: [{ destination: { host: hostOf("web") } }] }]),
    );
    await until(async () => {
      const routes = await client.admin("/config_dump?resource=dynamic_route_configs");
      return routes.includes(`after-${signal}`) ? undefined : "the rule has not arrived";
    }, 45_000);
    expect(load.requests).toBeGreaterThan(askedBefore);
  }
  await load.stop();
  expect(load.failures).toEqual([]);
  expect(load.requests * BATCH).toBeGreaterThan(500);
  expect(readFileSync(mesh.controlPlane.rootFile, "utf8")).toBe(root);
  expect(certificate()).toBe(before);
  expect(await mesh.rejections()).toEqual([]);
  for (const workload of [client, server]) expect(await workload.rejections()).toEqual([]);
});
