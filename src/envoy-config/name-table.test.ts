import { describe, expect, test } from "vitest";
import { httpService, scopeOf, sidecar } from "../../test/support/discovery/routes.ts";
import { scopeOf as routerScopeOf } from "../../test/support/mesh-model/router-view.ts";
import type { Endpoint } from "../mesh-model/endpoint.ts";
import type { OutboundScope } from "../mesh-model/push-snapshot.ts";
import type { Service } from "../mesh-model/service.ts";
import { decodeNameTable } from "../xds/name-table.ts";
import { encodeProxyConfig, generateProxyConfig } from "./create-resource-source.ts";
import { encodeNameTable, generateNameTable } from "./name-table.ts";

const HOST = "hs.prod.svc.cluster.local";

const service: Service = {
  key: "hs",
  hostname: HOST,
  name: "hs",
  namespace: "prod",
  provider: "Kubernetes",
  clusterId: "Kubernetes",
  ports: [{ name: "tcp", port: 80, protocol: "TCP" }],
  addresses: [],
  resolution: "Passthrough",
  meshExternal: false,
  subjectAltNames: [],
  creationTime: 0,
  labels: {},
  exportTo: [],
};

const endpoint: Endpoint = {
  addresses: ["10.0.0.1"],
  servicePortName: "tcp",
  port: 80,
  labels: {},
  serviceAccount: "",
  network: "",
  locality: { region: "", zone: "", subzone: "" },
  clusterId: "Kubernetes",
  weight: 0,
  tlsMode: "disabled",
  namespace: "prod",
  workloadName: "",
  health: "Healthy",
};

/** The table for a mesh of these services, whose endpoints are all the same. */
function tableOf(
  services: readonly Service[],
  endpoints: readonly Partial<Endpoint>[] = [],
  traits: Partial<OutboundScope["traits"]> = {},
) {
  const scope = scopeOf([]);
  const [listener] = scope.egress;
  if (listener === undefined) throw new Error("a scope has an egress listener");
  return generateNameTable({
    ...scope,
    traits: { ...scope.traits, ...traits },
    egress: [{ ...listener, services }],
    snapshot: { ...scope.snapshot, endpoints: () => endpoints.map((members) => ({ ...endpoint, ...members })) },
  }).table;
}

describe("the name table", () => {
  test("a gateway resolves names itself: its table is empty", () => {
    expect(generateNameTable(routerScopeOf([]).outbound).table).toEqual({});
  });

  test("a service of Kubernetes is known by its short name as well", () => {
    expect(tableOf([{ ...service, addresses: ["10.96.0.1"] }])).toEqual({
      [HOST]: { ips: ["10.96.0.1"], registry: "Kubernetes", shortname: "hs", namespace: "prod" },
    });
  });

  test("a headless service: its endpoints, and each pod that has a name", () => {
    const pods = ["pod-0", "pod-1"].map((hostName, index) => ({
      hostName,
      subDomain: "hs",
      addresses: [`10.0.0.${index + 1}`],
    }));
    expect(tableOf([service], [...pods, ...pods])).toEqual({
      [HOST]: { ips: ["10.0.0.1", "10.0.0.2"], registry: "Kubernetes", shortname: "hs", namespace: "prod" },
      [`pod-0.${HOST}`]: { ips: ["10.0.0.1"], registry: "Kubernetes", shortname: "pod-0.hs", namespace: "prod" },
      [`pod-1.${HOST}`]: { ips: ["10.0.0.2"], registry: "Kubernetes", shortname: "pod-1.hs", namespace: "prod" },
    });
  });

  test.each<[string, Partial<Endpoint>, boolean]>([
    ["healthy", {}, true],
    ["of unknown health", { health: "Unknown" }, true],
    ["unhealthy", { health: "UnHealthy" }, false],
    ["draining", { health: "Draining" }, false],
    ["of another cluster", { clusterId: "other" }, false],
    ["of another network", { network: "other" }, false],
    ["with a name instead of an address", { addresses: ["db.example"] }, false],
    ["a unix socket", { addresses: ["unix:///x"] }, false],
  ])("an endpoint %s", (_what, members, isListed) => {
    expect(HOST in tableOf([service], [members], { network: "own" })).toBe(isListed);
  });

  test("endpoints that are not ready count where the service says so", () => {
    const published = { ...service, publishNotReady: true };
    expect(tableOf([published], [{ health: "UnHealthy" }])).toHaveProperty([HOST]);
    expect(tableOf([published], [{ health: "Terminating" }])).toEqual({});
  });

  test("ServiceEntries of one host add up; a service of Kubernetes stands alone", () => {
    const external = (name: string, addresses: string[]): Service => ({
      ...service,
      name,
      provider: "External",
      addresses,
    });
    const both = [external("a", ["10.1.0.1", "10.2.0.0/16"]), external("b", ["10.1.0.2", "10.1.0.1"])];
    expect(tableOf(both)[HOST]).toEqual({ ips: ["10.1.0.1", "10.1.0.2"], registry: "External" });
    const own = { ...service, addresses: ["10.96.0.1"] };
    for (const order of [
      [own, ...both],
      [...both, own],
    ])
      expect(tableOf(order)[HOST]?.ips).toEqual(["10.96.0.1"]);
  });

  test.each([
    ["neither", {}, undefined],
    ["DNS only", { DNS_CAPTURE: "true" }, undefined],
    ["both", { DNS_CAPTURE: "true", DNS_AUTO_ALLOCATE: "true" }, 1],
    [
      "both, with two families",
      { DNS_CAPTURE: "true", DNS_AUTO_ALLOCATE: "true", INSTANCE_IPS: "10.0.0.9,2001:db8::9" },
      2,
    ],
  ])("allocated addresses for a proxy that asked for %s", (_what, metadata, count) => {
    const { table } = generateNameTable(scopeOf([httpService("web", { hosts: ["web.example"] })], { metadata }));
    expect(table["web.example"]?.ips.length).toBe(count);
  });

  test("only what the Sidecar lets the proxy see", () => {
    const at = { addresses: ["10.96.0.1"] };
    const limited = sidecar("s", { egress: [{ hosts: ["./a.default.svc.cluster.local"] }] });
    const { table } = generateNameTable(scopeOf([httpService("a", at), httpService("b", at), limited]));
    expect(Object.keys(table)).toEqual(["a.default.svc.cluster.local"]);
  });

  test("comes back from its bytes, also for a host called constructor", () => {
    const table = tableOf([{ ...service, hostname: "constructor", addresses: ["10.96.0.1"] }]);
    expect(decodeNameTable(encodeNameTable({ table })).table.constructor).toMatchObject({ ips: ["10.96.0.1"] });
  });
});

describe("proxy config", () => {
  test("carries each trust anchor once, as field 34", () => {
    const config = generateProxyConfig(["A", "B", "A"]);
    expect(config).toEqual({ caCertificatesPem: ["A", "B"] });
    expect(encodeProxyConfig(config)).toEqual(Buffer.from([0x92, 2, 1, 65, 0x92, 2, 1, 66]));
  });
});
