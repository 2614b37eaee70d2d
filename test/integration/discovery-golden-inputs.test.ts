import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createServiceEntryRegistry } from "../../src/discovery/registries/create-service-entry-registry.ts";
import { createMemoryStore } from "../../src/discovery/stores/create-memory-store.ts";
import { describeDocumentProblem, parseConfigText } from "../../src/istio-api/decode/parse-config-text.ts";
import { generationRules } from "../../src/istio-api/generations.ts";
import { defaultMeshConfig } from "../../src/istio-api/mesh-config/mesh-config.ts";
import { parseMeshConfig } from "../../src/istio-api/mesh-config/parse-mesh-config.ts";
import { formatLocality } from "../../src/mesh-model/locality.ts";
import { parseServiceNode } from "../../src/settings/role/service-node.ts";

const root = join(process.env.CONFORMANCE_DIR ?? join(import.meta.dirname, "../../../shared/conformance"), "discovery");
const cases = existsSync(root)
  ? readdirSync(root, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  : [];
const rules = generationRules("master");
const read = (name: string, file: string) => readFileSync(join(root, name, file), "utf8");

const casesWithout = (...others: readonly string[]) => cases.filter((name) => !others.includes(name));

/** Services and endpoints of a case, from its rule objects alone. */
function registryOf(name: string) {
  const store = createMemoryStore({ now: () => 0 });
  for (const { source } of parseConfigText(read(name, "config.yaml")).objects) store.put(source);
  return createServiceEntryRegistry({ store, trustDomain: "cluster.local", clusterId: "Kubernetes" });
}

interface Cluster {
  readonly name: string;
  readonly type?: string;
}
interface Assignment {
  readonly clusterName: string;
  readonly endpoints?: readonly { readonly locality: GoldenLocality; readonly lbEndpoints: readonly LbEndpoint[] }[];
}
interface GoldenLocality {
  readonly region?: string;
  readonly zone?: string;
  readonly subZone?: string;
}
interface LbEndpoint {
  readonly loadBalancingWeight?: number;
  readonly endpoint: {
    readonly address: { readonly socketAddress?: { readonly address: string; readonly portValue: number } };
  };
}

// Golden data lives outside the project; without it there is nothing to read.
test("there are golden cases to read", (context) => {
  if (cases.length === 0) context.skip(`notice: no golden cases at ${root} (set CONFORMANCE_DIR)`);
  expect(cases.length).toBeGreaterThan(30);
});

for (const name of cases) {
  test(`${name}: every object is taken into the model without an error`, async () => {
    const text = read(name, "config.yaml");
    const { objects, problems } = parseConfigText(text, { file: name });
    expect(problems.filter(({ severity }) => severity === "error").map(describeDocumentProblem)).toEqual([]);
    expect(problems.filter(({ message }) => message.includes("unknown field"))).toEqual([]);
    expect(objects).toHaveLength(text.match(/^kind: /gm)?.length ?? 0);
    if (existsSync(join(root, name, "mesh.yaml"))) {
      const mesh = await parseMeshConfig(read(name, "mesh.yaml"), defaultMeshConfig(rules), name, rules);
      expect(mesh).toBeDefined();
    }
    const node = JSON.parse(read(name, "node.json"));
    expect(parseServiceNode(node.id, node.metadata, rules).configNamespace).toBe(node.metadata.NAMESPACE);
  });
}

// Cases about who sees what leave services out on purpose; proxyless clients ask by name.
for (const name of casesWithout("sidecar-egress-limits", "grpc-proxyless-client")) {
  test(`${name}: the services are those that the reference has clusters for`, () => {
    const golden = (JSON.parse(read(name, "clusters.json")) as Cluster[]).map((cluster) => cluster.name);
    const wanted = golden.flatMap((cluster) => (/^outbound\|\d+\|\|/.test(cluster) ? [cluster] : []));
    const ours = registryOf(name)
      .services()
      .flatMap(({ hostname, ports }) =>
        ports.filter(({ protocol }) => protocol !== "UDP").map(({ port }) => `outbound|${port}||${hostname}`),
      );
    expect([...new Set(ours)].sort()).toEqual([...new Set(wanted)].sort());
  });
}

for (const name of cases) {
  test(`${name}: addresses, weights and localities of endpoints are those that the reference sends`, () => {
    const registry = registryOf(name);
    for (const { clusterName, endpoints = [] } of JSON.parse(read(name, "endpoints.json")) as Assignment[]) {
      const [, port, subset, hostname] = clusterName.split("|");
      if (subset !== "") continue;
      const wanted = endpoints.flatMap(({ locality, lbEndpoints }) =>
        lbEndpoints.flatMap(({ endpoint, loadBalancingWeight = 1 }) => {
          const { socketAddress } = endpoint.address;
          const place = formatLocality({ region: "", zone: "", ...locality, subzone: locality.subZone ?? "" });
          return socketAddress === undefined
            ? []
            : [`${socketAddress.address}:${socketAddress.portValue} ${loadBalancingWeight} ${place}`];
        }),
      );
      const services = registry.services().filter((service) => service.hostname === hostname);
      const ours = services.flatMap((service) => {
        const names = service.ports
          .filter((candidate) => String(candidate.port) === port)
          .map((candidate) => candidate.name);
        return registry
          .endpoints(service.key)
          .filter(({ servicePortName }) => names.includes(servicePortName))
          .map(
            ({ addresses, port: target, weight, locality }) =>
              `${addresses[0]}:${target} ${weight || 1} ${formatLocality(locality)}`,
          );
      });
      // The reference repeats the endpoints of an entry for each of its addresses.
      expect([...new Set(ours)].sort(), clusterName).toEqual([...new Set(wanted)].sort());
    }
  });
}

// A Sidecar object with ingress lists its own ports, interception NONE has none, a router serves nothing.
for (const name of casesWithout(
  "sidecar-ingress",
  "interception-none",
  "gateway-http-and-https",
  "grpc-proxyless-client",
)) {
  test(`${name}: a sidecar serves the target ports that the reference has inbound clusters for`, () => {
    const node = JSON.parse(read(name, "node.json"));
    // A Sidecar object with ingress lists its own ports, interception NONE has none, a router serves nothing.
    if (["sidecar-ingress", "interception-none", "gateway-http-and-https", "grpc-proxyless-client"].includes(name))
      return;
    const golden = (JSON.parse(read(name, "clusters.json")) as Cluster[]).map((cluster) => cluster.name);
    const wanted = golden.flatMap((cluster) => (cluster.startsWith("inbound|") ? [Number(cluster.split("|")[1])] : []));
    const { ipAddresses, configNamespace } = parseServiceNode(node.id, node.metadata, rules);
    const targets = registryOf(name).targets({ addresses: ipAddresses, namespace: configNamespace });
    expect([...new Set(targets.map(({ targetPort }) => targetPort))].sort()).toEqual([...new Set(wanted)].sort());
  });
}

for (const name of cases.filter((candidate) => candidate === "name-table")) {
  test("addresses given out to services without one are those of the reference", () => {
    const { table } = JSON.parse(read(name, "nametable.json")) as { table: Record<string, { ips: string[] }> };
    const services = registryOf(name).services();
    for (const [hostname, { ips }] of Object.entries(table)) {
      const ours = services
        .filter((service) => service.hostname === hostname)
        .flatMap(({ addresses, autoAllocated }) => (autoAllocated === undefined ? addresses : [autoAllocated.ipv4]))
        .filter((address) => !address.includes("/"));
      expect(ours.sort(), hostname).toEqual([...ips].sort());
    }
  });
}
