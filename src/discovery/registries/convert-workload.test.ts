import { expect, test } from "vitest";
import { createMemoryStore } from "../stores/create-memory-store.ts";
import { createServiceEntryRegistry } from "./create-service-entry-registry.ts";

const object = (kind: string, name: string, spec: object, metadata: object = {}) => ({
  apiVersion: "networking.istio.io/v1",
  kind,
  metadata: { name, namespace: "prod", ...metadata },
  spec,
});
const PORTS = [{ number: 80, name: "http", protocol: "HTTP" }];

function endpointOf(entry: object, metadata: object = {}, more: object = {}, resolution = "STATIC") {
  const store = createMemoryStore();
  const selector = { hosts: ["web.example"], resolution, ports: PORTS, workloadSelector: { labels: { app: "web" } } };
  store.put(object("ServiceEntry", "web", selector));
  store.put({ ...object("WorkloadEntry", "vm", { labels: { app: "web" }, ...entry }, metadata), ...more });
  const registry = createServiceEntryRegistry({ store, trustDomain: "td", clusterId: "c1" });
  const [service] = registry.services();
  return registry.endpoints(service?.key ?? "")[0];
}

const CHECKED = { annotations: { "proxy.istio.io/health-checks-enabled": "true" } };
const condition = (status: string) => ({ status: { conditions: [{ type: "Healthy", status }] } });

test.each([
  { what: "not checked", metadata: {}, more: condition("False"), health: "Unknown" },
  { what: "checked and well", metadata: CHECKED, more: condition("True"), health: "Unknown" },
  { what: "checked and not well", metadata: CHECKED, more: condition("False"), health: "UnHealthy" },
  { what: "to be checked, but not yet", metadata: CHECKED, more: {}, health: "UnHealthy" },
])("a workload that is $what is $health", ({ metadata, more, health }) => {
  expect(endpointOf({ address: "10.0.0.1" }, metadata, more)?.health).toBe(health);
});

test.each([
  { entry: { locality: "r/z/s/t" }, labels: {}, region: "r", zone: "z", subzone: "s" },
  { entry: {}, labels: { "istio-locality": "r.z" }, region: "r", zone: "z", subzone: "" },
  { entry: {}, labels: { "topology.istio.io/locality": "r.z.s" }, region: "r", zone: "z", subzone: "s" },
  { entry: { locality: "r" }, labels: { "istio-locality": "other" }, region: "r", zone: "", subzone: "" },
])("a workload with $entry and labels $labels is in $region/$zone/$subzone", ({ entry, labels, ...place }) => {
  const endpoint = endpointOf({ address: "10.0.0.1", labels: { app: "web", ...labels }, ...entry });
  expect(endpoint?.locality).toEqual(place);
});

test("place, network and cluster are among the labels by which rules choose", () => {
  const entry = { address: "10.0.0.1", locality: "r/z/s", network: "n1" };
  expect(endpointOf(entry)?.labels).toEqual({
    app: "web",
    "topology.kubernetes.io/region": "r",
    "topology.kubernetes.io/zone": "z",
    "topology.istio.io/subzone": "s",
    "topology.istio.io/network": "n1",
    "topology.istio.io/cluster": "c1",
  });
  const labelled = { ...entry, labels: { app: "web", "topology.istio.io/network": "own" } };
  expect(endpointOf(labelled)?.labels["topology.istio.io/network"]).toBe("own");
});

test.each([
  { label: "istio", account: "", mode: "istio" },
  { label: "disabled", account: "web", mode: "disabled" },
  { label: "", account: "web", mode: "disabled" },
  { label: undefined, account: "web", mode: "istio" },
  { label: undefined, account: "", mode: "disabled" },
])("label '$label' and account '$account' mean TLS mode $mode", ({ label, account, mode }) => {
  const labels = { app: "web", ...(label !== undefined && { "security.istio.io/tlsMode": label }) };
  expect(endpointOf({ address: "10.0.0.1", serviceAccount: account, labels })?.tlsMode).toBe(mode);
});

test("a socket of a machine is not chosen by a service that clients on others call", () => {
  expect(endpointOf({ address: "unix:///run/web.sock" })).toBeUndefined();
});

test.each([
  { said: "PreferClose", means: "PreferSameZone" },
  { said: "prefersamenode", means: "PreferSameNode" },
  { said: "Anywhere", means: undefined },
  { said: "constructor", means: undefined },
])("traffic distribution $said means $means", ({ said, means }) => {
  const store = createMemoryStore();
  const annotations = { "networking.istio.io/traffic-distribution": said };
  store.put(
    object("ServiceEntry", "web", { hosts: ["web.example"], resolution: "DNS", ports: PORTS }, { annotations }),
  );
  const registry = createServiceEntryRegistry({ store, trustDomain: "td", clusterId: "c1" });
  expect(registry.services()[0]?.trafficDistribution).toBe(means);
});
