import { expect, test } from "vitest";
import { startDiscoveryMesh } from "../test/support/discovery/mesh.ts";
import { documents, hostOf, ruleObject, serviceEntry } from "../test/support/discovery/rules.ts";
import type { Echo } from "../test/support/discovery/workload.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { until } from "../test/support/wait/until.ts";

const NEEDS = ["envoy", "root", "netns", "iptables", "setpriv"] as const;
const VIP = "10.96.0.10";
const GATEWAY = "10.10.3.1";
const FAR = "10.10.2.1";

const networks = (gateways: string) => `
networks:
  far:
    endpoints: [{fromCidr: 10.10.2.0/24}]
    gateways: ${gateways}
`;

const rules = documents(
  serviceEntry({
    name: "web",
    vip: VIP,
    ports: [
      { number: 80, name: "http", protocol: "HTTP", targetPort: 8080 },
      { number: 84, name: "tcp", protocol: "TCP", targetPort: 8084 },
    ],
    endpoints: [{ address: FAR, serviceAccount: "web" }],
  }),
  ruleObject("networking.istio.io/v1", "Gateway", "cross-network", {
    selector: { app: "east-west" },
    servers: [
      {
        port: { number: 15443, name: "tls", protocol: "TLS" },
        tls: { mode: "AUTO_PASSTHROUGH" },
        hosts: ["*.local"],
      },
    ],
  }),
);

const started = sharedPlace(NEEDS, async (opened) => {
  const mesh = opened.add(
    await startDiscoveryMesh({
      files: { "rules.yaml": rules },
      networks: networks(`[{address: ${GATEWAY}, port: 15443}]`),
      workloads: [
        { name: "client", address: "10.10.1.1", env: { ISTIO_META_NETWORK: "near" } },
        { name: "web", address: FAR, env: { ISTIO_META_NETWORK: "far" } },
        {
          name: "east-west",
          address: GATEWAY,
          isRouter: true,
          labels: { app: "east-west" },
          env: { ISTIO_META_NETWORK: "far", ISTIO_META_REQUESTED_NETWORK_VIEW: "far" },
        },
      ],
    }),
  );
  await mesh.workload("web").listen({ kind: "http", port: 8080, name: "web" });
  await mesh.workload("web").listen({ kind: "tcp", port: 8084, name: "web" });
  return mesh;
});

const call = async () => {
  const [answer] = await started()
    .workload("client")
    .http({ address: VIP, port: 80, host: hostOf("web"), fresh: true });
  if (answer?.status !== 200) {
    const text = `${answer?.status} ${answer?.body}${answer?.error ?? ""}`;
    throw Object.assign(new Error(text), { code: "unexpected-status" });
  }
  return JSON.parse(answer.body) as Echo;
};
/** Addresses that the client's Envoy has for the service. */
const upstreams = async () => {
  const page = await started().workload("client").admin("/clusters");
  const lines = page.split("\n").flatMap((line) => /^outbound\|80\|\|web\.[^:]*::([\d.]+:\d+)::/.exec(line)?.[1] ?? []);
  return [...new Set(lines)];
};

test("a service of another network is called through that network's gateway, with mutual TLS from end to end", async () => {
  await until(async () => expect(await upstreams()).toEqual([`${GATEWAY}:15443`]));
  await until(async () => expect(await call()).toMatchObject({ name: "web" }));
  const { headers } = await call();
  expect(headers["x-forwarded-client-cert"]).toContain("URI=spiffe://cluster.local/ns/default/sa/client");
  const passedOn = await started().workload("east-west").admin("/clusters");
  expect(passedOn).toMatch(/^outbound_\.80_\._\.web\.\S*::10\.10\.2\.1:8080::cx_total::[1-9]/m);
  expect(JSON.parse(await started().debug("/debug/networkz"))).toEqual([
    { Network: "far", Cluster: "", Addr: GATEWAY, Port: 15443 },
  ]);
  expect(await started().rejections()).toEqual([]);
});

test("without a gateway the other network is called directly, from the moment the file says so", async () => {
  const { controlPlane } = started();
  controlPlane.writeNetworks(networks("[]"));
  await until(async () => expect(await upstreams()).toEqual([`${FAR}:8080`]));
  await until(async () => expect(await call()).toMatchObject({ name: "web" }));
  controlPlane.writeNetworks(networks(`[{address: ${GATEWAY}, port: 15443}]`));
  await until(async () => expect(await upstreams()).toEqual([`${GATEWAY}:15443`]));
});
