import { expect, test } from "vitest";
import { agentEnvironment } from "./agent-environment.ts";
import { appEnvironment, commandWords } from "./app-environment.ts";
import { buildIstioObjects } from "./istio-objects.ts";
import type { MeshFile } from "./mesh-file.ts";
import { parseMeshFile } from "./parse-mesh-file.ts";
import { planMesh, planObstacle, portObstacle, portsNeeded, workloadCount } from "./plan-mesh.ts";

const SHOP = `name: shop
namespace: shop
services:
  front: {port: 8080, entry: true, command: front, calls: [catalogue]}
  catalogue: {port: 8080, command: catalogue, versions: {v1: {}, v2: {replicas: 2, labels: {tier: new}}}}
  db: {port: 5432, protocol: tcp, address: 192.0.2.7:5433}
  load: {command: load}
`;

function fileOf(text: string): MeshFile {
  const parsed = parseMeshFile(text);
  if ("problems" in parsed) throw new Error(JSON.stringify(parsed.problems));
  return parsed.file;
}

const file = fileOf(SHOP);
const ports = Array.from({ length: portsNeeded(file) }, (_, index) => 20_000 + index);
const loose = planMesh(file, { isolation: "none", slot: 3, ports });
const apart = planMesh(file, { isolation: "namespaces", slot: 3, ports: [] });

test("one workload per version and replica, named after them", () => {
  expect(workloadCount(file)).toBe(5);
  expect(loose.workloads.map(({ name }) => name)).toEqual([
    "front",
    "catalogue-v1",
    "catalogue-v2-1",
    "catalogue-v2-2",
    "load",
  ]);
});

test("without namespaces no two workloads share a port or an address", () => {
  const taken = loose.workloads.flatMap(({ ports: own, app }) => [...Object.values(own), ...(app ? [app.port] : [])]);
  const all = [...taken, ...Object.values(loose.controlPlane.ports)];
  expect(new Set(all).size).toBe(all.length);
  const addresses = loose.workloads.flatMap(({ address, calls }) => [address, ...calls.map(({ host }) => host)]);
  expect(new Set(addresses).size).toBe(addresses.length);
  expect(addresses.every((address) => address.startsWith("127.67."))).toBe(true);
});

test("with namespaces every workload has the ports of a pod and plain names", () => {
  const [front] = apart.workloads;
  expect(front).toMatchObject({
    address: "198.18.3.10",
    app: { host: "0.0.0.0", port: 8080 },
    ports: { status: 15_020, admin: 15_000 },
    calls: [{ service: "catalogue", host: "catalogue", port: 8080 }],
    netns: "pamesh3-0",
  });
  expect(apart.services.map(({ virtualAddress }) => virtualAddress)).toEqual([
    "198.19.3.10",
    "198.19.3.11",
    "198.19.3.12",
  ]);
  expect(apart.controlPlane).toMatchObject({ host: "198.18.3.1", netns: "pamesh3-hub", ports: { secure: 15_012 } });
});

test("two meshes share no address and no name", () => {
  const words = (slot: number, isolation: "none" | "namespaces") =>
    JSON.stringify(planMesh(file, { isolation, slot, ports: [] })).match(/\b(127|198)\.\d+\.\d+\.\d+|pamesh[-\w]+/g) ??
    [];
  for (const isolation of ["none", "namespaces"] as const) {
    const first = new Set(words(3, isolation));
    expect(words(4, isolation).filter((word) => first.has(word) && word !== "127.0.0.1")).toEqual([]);
  }
});

test("a workload calls the services it names, or all but its own", () => {
  const called = Object.fromEntries(
    loose.workloads.map(({ name, calls }) => [name, calls.map(({ service }) => service)]),
  );
  expect(called).toMatchObject({
    front: ["catalogue"],
    load: ["front", "catalogue", "db"],
    "catalogue-v1": ["front", "db"],
  });
});

test("a service's endpoints are its sidecars, with identity and labels", () => {
  const objects = buildIstioObjects(loose, "strict");
  const catalogue = objects.find(({ kind, metadata }) => kind === "ServiceEntry" && metadata.name === "catalogue");
  expect(catalogue).toEqual({
    apiVersion: "networking.istio.io/v1",
    kind: "ServiceEntry",
    metadata: { name: "catalogue", namespace: "shop" },
    spec: {
      hosts: ["catalogue.shop.svc.cluster.local"],
      location: "MESH_INTERNAL",
      resolution: "STATIC",
      ports: [{ number: 8080, name: "http", protocol: "HTTP" }],
      endpoints: [
        {
          address: "127.67.0.2",
          serviceAccount: "catalogue",
          labels: {
            app: "catalogue",
            version: "v1",
            "pilot-agent.io/workload": "catalogue-v1",
            "service.istio.io/workload-name": "catalogue-v1",
          },
        },
        {
          address: "127.67.0.3",
          serviceAccount: "catalogue",
          labels: {
            app: "catalogue",
            version: "v2",
            tier: "new",
            "pilot-agent.io/workload": "catalogue-v2-1",
            "service.istio.io/workload-name": "catalogue-v2-1",
          },
        },
        {
          address: "127.67.0.4",
          serviceAccount: "catalogue",
          labels: {
            app: "catalogue",
            version: "v2",
            tier: "new",
            "pilot-agent.io/workload": "catalogue-v2-2",
            "service.istio.io/workload-name": "catalogue-v2-2",
          },
        },
      ],
    },
  });
});

test("a service that already runs is outside the mesh, at its own address and port", () => {
  const db = buildIstioObjects(apart, "strict").find(({ metadata }) => metadata.name === "db");
  expect(db?.spec).toMatchObject({
    addresses: ["198.19.3.12"],
    location: "MESH_EXTERNAL",
    resolution: "STATIC",
    endpoints: [{ address: "198.18.3.2", ports: { tcp: 15_102 } }],
  });
  expect(apart.services.find(({ name }) => name === "db")?.endpoints[0]?.relays[0]?.to).toEqual({
    host: "192.0.2.7",
    port: 5433,
  });
  expect(buildIstioObjects(loose, "strict").find(({ metadata }) => metadata.name === "db")?.spec).toMatchObject({
    endpoints: [{ address: "192.0.2.7", ports: { tcp: 5433 } }],
  });
});

test("without namespaces each workload has a Sidecar that binds its addresses", () => {
  const sidecars = buildIstioObjects(loose, "strict").filter(({ kind }) => kind === "Sidecar");
  expect(sidecars.map(({ metadata }) => metadata.name)).toEqual(loose.workloads.map(({ name }) => name));
  expect(sidecars[0]?.spec).toEqual({
    workloadSelector: { labels: { "pilot-agent.io/workload": "front" } },
    ingress: [
      {
        port: { number: 8080, name: "http", protocol: "HTTP" },
        bind: "127.67.0.1",
        captureMode: "NONE",
        defaultEndpoint: "127.0.0.1:20004",
      },
    ],
    egress: [
      {
        port: { number: 8080, name: "http", protocol: "HTTP" },
        bind: "127.67.1.2",
        captureMode: "NONE",
        hosts: ["./catalogue.shop.svc.cluster.local"],
      },
    ],
  });
  expect(sidecars.at(-1)?.spec).not.toHaveProperty("ingress");
  expect(buildIstioObjects(apart, "strict").some(({ kind }) => kind === "Sidecar")).toBe(false);
});

test("a strict mesh refuses plain text except at its entries", () => {
  const rules = buildIstioObjects(apart, "strict").filter(({ kind }) => kind === "PeerAuthentication");
  expect(rules.map(({ metadata, spec }) => [metadata.name, spec])).toEqual([
    ["default", { mtls: { mode: "STRICT" } }],
    ["entry-front", { selector: { matchLabels: { app: "front" } }, mtls: { mode: "PERMISSIVE" } }],
  ]);
});

test("applications find their port and the services they call in the environment", () => {
  const [front] = loose.workloads;
  if (front === undefined) throw new Error("no workload");
  expect(appEnvironment(loose, { ...front, env: { ARGS: "--port=$(PORT) $$(PORT) $(NOPE)" } })).toEqual({
    MESH_NAME: "shop",
    MESH_WORKLOAD: "front",
    MESH_SERVICE: "front",
    HOST: "127.0.0.1",
    PORT: "20004",
    CATALOGUE_URL: "http://127.67.1.2:8080",
    CATALOGUE_HOST: "127.67.1.2",
    CATALOGUE_PORT: "8080",
    ARGS: "--port=20004 $(PORT) $(NOPE)",
  });
});

test("words are expanded, lines go to the shell", () => {
  expect(commandWords(["serve", "$(PORT)"], { PORT: "80" })).toEqual(["serve", "80"]);
  expect(commandWords("serve $PORT", { PORT: "80" })).toEqual(["/bin/sh", "-c", "serve $PORT"]);
});

test("an agent is given its ports, its labels and how traffic reaches it", () => {
  const [front] = loose.workloads;
  const [isolated] = apart.workloads;
  if (front === undefined || isolated === undefined) throw new Error("no workload");
  const env = agentEnvironment(loose, front, "/envoy");
  expect(env).toMatchObject({
    INSTANCE_IP: "127.67.0.1",
    ISTIO_META_INTERCEPTION_MODE: "NONE",
    ISTIO_META_DNS_CAPTURE: "false",
  });
  expect(JSON.parse(env.PROXY_CONFIG ?? "")).toMatchObject({
    discoveryAddress: "127.0.0.1:20001",
    interceptionMode: "NONE",
  });
  expect(JSON.parse(env.ISTIO_METAJSON_LABELS ?? "")).toEqual({
    app: "front",
    "pilot-agent.io/workload": "front",
    "service.istio.io/workload-name": "front",
  });
  expect(agentEnvironment(apart, isolated, "/envoy")).toMatchObject({
    ISTIO_META_DNS_CAPTURE: "true",
    DNS_PROXY_ADDR: "localhost:15053",
  });
});

test("more workloads than addresses are refused", () => {
  const many = fileOf(
    `services: {${Array.from({ length: 5 }, (_, index) => `s${index}: {command: x, replicas: 50}`).join(", ")}}`,
  );
  expect(planObstacle(many)).toBe("250 workloads are planned, at most 200 fit on one machine");
  expect(planObstacle(file)).toBeUndefined();
});

test.each([15_000, 15_001, 15_006, 15_008, 15_020, 15_021, 15_053, 15_090])(
  "port %i of a workload is its sidecar's in a namespace, and only there",
  (port) => {
    const own = fileOf(`services: {web: {port: ${port}, command: x}}`);
    expect(portObstacle(own, "namespaces")).toContain(`service web: port ${port} is one of its sidecar's own`);
    expect(portObstacle(own, "none")).toBeUndefined();
    expect(portObstacle(fileOf(`services: {db: {port: ${port}, address: 'db:1'}}`), "namespaces")).toBeUndefined();
  },
);

test("without Envoy applications are the endpoints themselves and know services by their xDS names", () => {
  const plan = planMesh(file, { isolation: "none", slot: 3, ports, proxyless: true });
  const [front] = plan.workloads;
  if (front === undefined) throw new Error("no workload");
  expect(front.app).toEqual({ host: front.address, port: 8080 });
  expect(appEnvironment(plan, front)).toMatchObject({
    CATALOGUE_URL: "http://127.67.0.2:8080",
    CATALOGUE_TARGET: "catalogue.shop.svc.cluster.local:8080",
  });
  expect(agentEnvironment(plan, front, "")).toMatchObject({ DISABLE_ENVOY: "true", OUTPUT_CERTS: "certs" });
  expect(buildIstioObjects(plan, "strict").some(({ kind }) => kind === "Sidecar")).toBe(false);
});
