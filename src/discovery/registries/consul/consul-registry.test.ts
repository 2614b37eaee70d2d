import { describe, expect, test } from "vitest";
import { describeServiceRegistry, type Platform } from "../../../../test/support/discovery/registry-contract.ts";
import { recordLog } from "../../../../test/support/log/recording-log.ts";
import { silentLogger } from "../../../base/logger.ts";
import type { ConsulInstance } from "../../../consul/index.ts";
import { convertConsulService } from "./convert-consul.ts";
import { createConsulRegistry } from "./create-consul-registry.ts";

const ORIGIN = { trustDomain: "td", clusterId: "Consul" };

const instance = (given: Partial<ConsulInstance> = {}): ConsulInstance => ({
  id: "web-1",
  node: "n1",
  datacenter: "dc1",
  address: "10.0.0.1",
  port: 80,
  tags: [],
  meta: { protocol: "http" },
  weight: 1,
  health: "passing",
  ...given,
});

const platform = (): Platform => {
  const registry = createConsulRegistry({ ...ORIGIN, log: silentLogger, isSynced: () => true });
  const meta = { protocol: "http", namespace: "prod" };
  return {
    registry,
    targetPort: 80,
    set: (name, addresses, { port = 80 } = {}) =>
      registry.apply(
        "dc1",
        new Map([[name, addresses.map((address) => instance({ address, port, meta, id: address }))]]),
      ),
    remove: (name) => registry.apply("dc1", new Map([[name, []]])),
    hostname: (name) => `${name}.service.consul`,
  };
};

describeServiceRegistry("Consul", platform);

test("an endpoint comes from the instance of its datacenter", () => {
  const registry = createConsulRegistry({ ...ORIGIN, log: silentLogger, isSynced: () => true });
  registry.apply("dc2", new Map([["web", [instance({ id: "web-2", address: "10.2.0.1", datacenter: "dc2" })]]]));
  registry.apply("dc1", new Map([["web", [instance()]]]));
  const key = registry.services()[0]?.key ?? "";
  expect(registry.describeEndpoints?.(key).map(({ endpoint, objects }) => [endpoint.addresses[0], objects])).toEqual([
    ["10.0.0.1", [{ kind: "Consul instance", namespace: "default", name: "web-1", cluster: "dc1" }]],
    ["10.2.0.1", [{ kind: "Consul instance", namespace: "default", name: "web-2", cluster: "dc2" }]],
  ]);
});

describe("a service of Consul's catalog", () => {
  const convert = (...instances: ConsulInstance[]) => convertConsulService("web", instances, ORIGIN);

  test("of two nodes with two ports is one service with both ports", () => {
    const converted = convert(instance(), instance({ id: "web-2", port: 443, meta: { protocol: "https" } }));
    expect(converted?.service).toMatchObject({
      hostname: "web.service.consul",
      namespace: "default",
      addresses: [],
      resolution: "ClientSideLB",
      meshExternal: false,
      ports: [
        { name: "http", port: 80, protocol: "HTTP" },
        { name: "https", port: 443, protocol: "HTTPS" },
      ],
    });
    expect(converted?.endpoints.map(({ port, servicePortName }) => [port, servicePortName])).toEqual([
      [80, "http"],
      [443, "https"],
    ]);
  });

  test("without instances does not exist", () => {
    expect(convert()).toBeUndefined();
  });

  test("whose metadata calls it external is reached by the address the client asked for", () => {
    expect(convert(instance({ meta: { external: "true" } }))?.service).toMatchObject({
      meshExternal: true,
      resolution: "Passthrough",
      ports: [{ name: "tcp", protocol: "TCP" }],
    });
  });

  test("has unique port names where one protocol is on two ports", () => {
    const converted = convert(instance(), instance({ port: 81 }));
    expect(converted?.service.ports.map(({ name }) => name)).toEqual(["http", "http-81"]);
    expect(converted?.endpoints[1]).toMatchObject({ servicePortName: "http-81", port: 81 });
  });

  test.each([
    { given: { meta: { protocol: "grpc" } }, protocol: "GRPC", warnings: [] },
    { given: { meta: {} }, protocol: "TCP", warnings: [] },
    {
      given: { meta: { protocol: "spdy" } },
      protocol: "TCP",
      warnings: ['protocol "spdy" is unknown and taken for TCP'],
    },
  ])("with $given speaks $protocol", ({ given, protocol, warnings }) => {
    const converted = convert(instance(given));
    expect(converted?.service.ports[0]?.protocol).toBe(protocol);
    expect(converted?.warnings).toEqual(warnings);
  });

  test("with two protocols on one port takes the first and says so", () => {
    const converted = convert(instance(), instance({ id: "b", meta: { protocol: "tcp" } }));
    expect(converted?.service.ports).toHaveLength(1);
    expect(converted?.warnings).toEqual(["web has port 80 with protocols HTTP and TCP; the first one counts"]);
  });

  test.each([
    { given: { health: "critical" }, has: { health: "UnHealthy" } },
    { given: { health: "warning", weight: 2 }, has: { health: "Healthy", weight: 2 } },
    { given: { tags: ["version|v1", "a|b|c"] }, has: { labels: { version: "v1", a: "b|c" }, tlsMode: "disabled" } },
    { given: { tags: ["security.istio.io/tlsMode|istio"] }, has: { tlsMode: "istio" } },
    { given: {}, has: { locality: { region: "dc1" }, serviceAccount: "spiffe://td/ns/default/sa/default" } },
    {
      given: { meta: { namespace: "prod", "service-account": "shop" } },
      has: { namespace: "prod", serviceAccount: "spiffe://td/ns/prod/sa/shop" },
    },
  ] as const)("has an endpoint of $given with $has", ({ given, has }) => {
    expect(convert(instance(given))?.endpoints[0]).toMatchObject(has);
  });

  test("has tags that are not labels, which is logged once", () => {
    const log = recordLog();
    const registry = createConsulRegistry({ ...ORIGIN, log, isSynced: () => true });
    for (const address of ["10.0.0.1", "10.0.0.2"])
      registry.apply("dc1", new Map([["web", [instance({ tags: ["primary"], address })]]]));
    expect(log.printed).toEqual([
      'warn Consul service {"name":"web","warning":"tag \\"primary\\" is not a label, which has the form key|value"}',
    ]);
  });

  test("of two datacenters is one service with the endpoints of both, and loses those of one", () => {
    const registry = createConsulRegistry({ ...ORIGIN, log: silentLogger, isSynced: () => true });
    registry.apply("dc2", new Map([["web", [instance({ datacenter: "dc2", address: "10.2.0.1" })]]]));
    registry.apply("dc1", new Map([["web", [instance()]]]));
    const [service, ...more] = registry.services();
    const regions = () => registry.endpoints(service?.key ?? "").map(({ locality }) => locality.region);
    expect([regions(), more]).toEqual([["dc1", "dc2"], []]);
    registry.apply("dc1", new Map([["web", []]]));
    expect(regions()).toEqual(["dc2"]);
  });

  test("has the identities of a trust domain that changes", () => {
    const registry = createConsulRegistry({ ...ORIGIN, log: silentLogger, isSynced: () => true });
    registry.apply("dc1", new Map([["web", [instance()]]]));
    registry.setTrustDomain("other");
    expect(registry.endpoints(registry.services()[0]?.key ?? "")[0]?.serviceAccount).toContain("spiffe://other/");
  });
});
