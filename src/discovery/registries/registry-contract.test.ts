import { describe, expect, test } from "vitest";
import { kubeService, kubeSlice } from "../../../test/support/discovery/kubernetes-objects.ts";
import { registryOf } from "../../../test/support/discovery/kubernetes-registry.ts";
import { serviceEntry, workloadEntry } from "../../../test/support/discovery/objects.ts";
import { describeServiceRegistry, type Platform } from "../../../test/support/discovery/registry-contract.ts";
import type { RegistryChange, ServiceRegistry } from "../../mesh-model/service-registry.ts";
import { createMemoryStore } from "../stores/create-memory-store.ts";
import { createAggregateRegistry } from "./create-aggregate-registry.ts";
import { createServiceEntryRegistry } from "./create-service-entry-registry.ts";

const entries = (): Platform => {
  const store = createMemoryStore({ now: () => 0 });
  return {
    registry: createServiceEntryRegistry({ store, trustDomain: "td", clusterId: "c1" }),
    set: (name, addresses, { port = 80 } = {}) =>
      void store.put(
        serviceEntry(name, {
          endpoints: addresses.map((address) => ({ address, serviceAccount: "sa" })),
          ports: [{ number: port, name: "http", protocol: "HTTP", targetPort: 8080 }],
        }),
      ),
    remove: (name) => void store.delete({ kind: "ServiceEntry", namespace: "prod", name }),
    hostname: (name) => `${name}.example`,
  };
};

const aggregated = (): Platform => {
  const [first, second] = [entries(), entries()];
  const registry = createAggregateRegistry([first.registry as ServiceRegistry, second.registry as ServiceRegistry]);
  return { ...second, registry };
};

const kubernetes = (): Platform => {
  const { registry, apply, remove } = registryOf([]);
  const slice = (name: string, addresses: readonly string[]) =>
    kubeSlice(
      name,
      addresses.map((address) => ({ address })),
    );
  return {
    registry,
    set: (name, addresses, { port = 80 } = {}) =>
      apply(
        kubeService(name, { selector: undefined, ports: [{ name: "http", port, targetPort: 8080 }] }),
        slice(name, addresses),
      ),
    remove: (name) => remove(kubeService(name), slice(name, [])),
    hostname: (name) => `${name}.prod.svc.cluster.local`,
  };
};

describeServiceRegistry("ServiceEntry", entries);
describeServiceRegistry("Kubernetes", kubernetes);
describeServiceRegistry("aggregate", aggregated);

describe("services of rule objects", () => {
  const setup = (...documents: Record<string, unknown>[]) => {
    const store = createMemoryStore({ now: () => 0 });
    for (const document of documents) expect(store.put(document)).toMatchObject({ stored: true });
    const registry = createServiceEntryRegistry({ store, trustDomain: "td", clusterId: "c1" });
    const endpoints = (name: string) => {
      const keys = registry
        .services()
        .filter((service) => service.name === name)
        .map(({ key }) => key);
      return keys.flatMap((key) => registry.endpoints(key));
    };
    return { store, registry, endpoints };
  };

  test("an entry with several addresses is one service per host with all of them", () => {
    const { registry, endpoints } = setup(
      serviceEntry("web", { hosts: ["a.b", "c.d"], addresses: ["10.1.0.1", "10.2.0.0/16"] }),
    );
    expect(registry.services().map(({ hostname, addresses }) => [hostname, addresses])).toEqual([
      ["a.b", ["10.1.0.1", "10.2.0.0/16"]],
      ["c.d", ["10.1.0.1", "10.2.0.0/16"]],
    ]);
    expect(endpoints("web")).toHaveLength(2);
  });

  test.each([
    { resolution: "NONE", endpoints: [], is: "Passthrough" },
    { resolution: "STATIC", endpoints: [], is: "ClientSideLB" },
    { resolution: "DNS", endpoints: [], is: "DNSLB" },
    { resolution: "DNS_ROUND_ROBIN", endpoints: [], is: "DNSRoundRobinLB" },
    { resolution: "DYNAMIC_DNS", endpoints: [], hosts: ["*.b"], addresses: [], is: "DynamicDNS" },
  ])("resolution $resolution is $is", ({ is, ...spec }) => {
    expect(setup(serviceEntry("web", spec)).registry.services()[0]?.resolution).toBe(is);
  });

  test("a DNS name without endpoints is its own endpoint; other resolutions then have none", () => {
    expect(setup(serviceEntry("web", { resolution: "DNS", endpoints: [] })).endpoints("web")).toMatchObject([
      { addresses: ["web.example"], port: 8080, tlsMode: "disabled" },
    ]);
    expect(setup(serviceEntry("web", { resolution: "NONE", endpoints: [] })).endpoints("web")).toEqual([]);
  });

  test.each([
    { endpoint: { address: "10.0.0.1" }, has: { port: 8080, serviceAccount: "", tlsMode: "disabled", weight: 0 } },
    { endpoint: { address: "10.0.0.1", ports: { http: 9 } }, has: { port: 9 } },
    { endpoint: { address: "unix:///s" }, has: { port: 0 } },
    {
      endpoint: { address: "10.0.0.1", serviceAccount: "x" },
      has: { serviceAccount: "spiffe://td/ns/prod/sa/x", tlsMode: "istio" },
    },
    { endpoint: { address: "10.0.0.1", labels: { "security.istio.io/tlsMode": "istio" } }, has: { tlsMode: "istio" } },
    {
      endpoint: { address: "10.0.0.1", serviceAccount: "x", labels: { "security.istio.io/tlsMode": "disabled" } },
      has: { tlsMode: "disabled" },
    },
    {
      endpoint: { address: "10.0.0.1", locality: "r/z", network: "n", weight: 3 },
      has: {
        locality: { region: "r", zone: "z", subzone: "" },
        network: "n",
        weight: 3,
        clusterId: "c1",
        workloadName: "web-0",
        health: "Unknown",
      },
    },
  ])("$endpoint gives $has", ({ endpoint, has }) => {
    expect(setup(serviceEntry("web", { endpoints: [endpoint] })).endpoints("web")[0]).toMatchObject(has);
  });

  test("a selector takes the workloads of its namespace by their labels, those of the object over those of the spec", () => {
    const selector = { endpoints: [], workloadSelector: { labels: { app: "web" } } };
    const labelled = workloadEntry("vm2", { address: "10.0.0.2", labels: { app: "other" } });
    const { store, registry, endpoints } = setup(
      serviceEntry("web", selector),
      workloadEntry("vm1", { labels: { app: "web" } }),
      { ...labelled, metadata: { name: "vm2", namespace: "prod", labels: { app: "web" } } },
      workloadEntry("far", { labels: { app: "web" } }, "dev"),
      workloadEntry("no", { labels: { app: "db" } }),
    );
    expect(endpoints("web").map(({ workloadName }) => workloadName)).toEqual(["vm1", "vm2"]);
    const seen: RegistryChange[] = [];
    registry.subscribe((change) => seen.push(change));
    store.put({
      ...workloadEntry("vm1", { labels: { app: "web" } }),
      metadata: {
        name: "vm1",
        namespace: "prod",
        annotations: { "proxy.istio.io/health-checks-enabled": "true" },
      },
      status: { conditions: [{ type: "Healthy", status: "False" }] },
    });
    expect(endpoints("web").map(({ health }) => health)).toEqual(["UnHealthy", "Unknown"]);
    store.delete({ kind: "WorkloadEntry", namespace: "prod", name: "vm1" });
    expect(endpoints("web").map(({ workloadName }) => workloadName)).toEqual(["vm2"]);
    expect(seen.map((change) => change.endpoints.length)).toEqual([1, 1]);
    store.put(workloadEntry("no", { labels: { app: "db" }, weight: 4 }));
    expect(seen).toHaveLength(2);
  });

  test("another trust domain changes identities, which is a change of endpoints", () => {
    const { registry, endpoints } = setup(serviceEntry("web"));
    const seen: RegistryChange[] = [];
    registry.subscribe((change) => seen.push(change));
    registry.setTrustDomain("td");
    registry.setTrustDomain("other");
    expect(endpoints("web")[0]?.serviceAccount).toBe("spiffe://other/ns/prod/sa/web");
    expect(seen.map((change) => change.endpoints.length)).toEqual([1]);
    registry.close();
  });

  test.each([
    { others: [], is: "alone" },
    { others: ["x"], is: "beside others" },
  ])("who shares a host with an entry that goes has other endpoints, $is as well", ({ others }) => {
    const shared = { hosts: ["shared.example"], endpoints: [{ address: "10.0.0.1" }] };
    const { store, registry } = setup(
      serviceEntry("a", shared),
      serviceEntry("b", shared),
      ...others.map((name) => serviceEntry(name)),
    );
    const keyOf = (name: string) => registry.services().find((service) => service.name === name)?.key;
    const [stays, goes] = [keyOf("a"), keyOf("b")];
    const changes: RegistryChange[] = [];
    registry.subscribe((change) => changes.push(change));
    store.delete({ kind: "ServiceEntry", namespace: "prod", name: "b" });
    expect(changes).toEqual([{ updated: [], deleted: [goes], endpoints: [stays] }]);
  });

  test("a closed registry no longer follows its store", () => {
    const { store, registry } = setup();
    registry.close();
    store.put(serviceEntry("web"));
    expect(registry.services()).toEqual([]);
  });
});

test("a registry taken out of the aggregate takes its services along", () => {
  const { registry: inner, set } = entries();
  set("web", ["10.0.0.1"]);
  const aggregate = createAggregateRegistry();
  const seen: RegistryChange[] = [];
  aggregate.subscribe((change) => seen.push(change));
  const remove = aggregate.add(inner as ServiceRegistry);
  remove();
  remove();
  set("web", ["10.0.0.2"]);
  expect(seen.map(({ updated, deleted }) => [updated.length, deleted.length])).toEqual([
    [1, 0],
    [0, 1],
  ]);
  expect(aggregate.services()).toEqual([]);
});
