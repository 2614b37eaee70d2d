import { expect, test } from "vitest";
import { networkOfAddress, parseMeshNetworks } from "./mesh-networks.ts";

const EXAMPLE = {
  networks: {
    east: {
      endpoints: [{ fromRegistry: "east" }],
      gateways: [{ registryServiceName: "istio-eastwestgateway.istio-system.svc.cluster.local", port: 15443 }],
    },
    west: {
      endpoints: [{ from_cidr: "10.2.0.0/16" }, { fromCidr: "2001:db8::/32" }],
      gateways: [
        { address: "192.0.2.7", port: 443, locality: "r1" },
        { address: "gateway.west.example", port: 443 },
      ],
    },
  },
};

test("networks have endpoints by cluster or range, and gateways by service or address, in either spelling", () => {
  const { networks, problems } = parseMeshNetworks(EXAMPLE);
  expect(problems).toEqual([]);
  expect(networks.map(({ name, gateways }) => [name, gateways])).toEqual([
    ["east", [{ address: "", service: "istio-eastwestgateway.istio-system.svc.cluster.local", port: 15443 }]],
    [
      "west",
      [
        { address: "192.0.2.7", service: "", port: 443 },
        { address: "gateway.west.example", service: "", port: 443 },
      ],
    ],
  ]);
  expect(networkOfAddress(networks, "east", "10.2.0.1")).toBe("east");
  expect(networkOfAddress(networks, "other", "10.2.0.1")).toBe("west");
  expect(networkOfAddress(networks, "other", "2001:db8::1")).toBe("west");
  expect(networkOfAddress(networks, "other", "10.3.0.1")).toBe("");
  expect(networkOfAddress(networks, "other", "unix:///run/x")).toBe("");
});

test.each([
  { is: "empty", document: null, says: [] },
  { is: "a list", document: [], says: ["the document: must be a map"] },
  { is: "misspelled", document: { network: {} }, says: ['unknown field "network"'] },
  {
    is: "with a member that networks do not have",
    document: { networks: { a: { gateway: [] } } },
    says: ['networks.a: unknown field "gateway"'],
  },
  {
    is: "with a range that is none",
    document: { networks: { a: { endpoints: [{ fromCidr: "10.0.0.0" }] } } },
    says: ['networks.a.endpoints[0].fromCidr: "10.0.0.0" is not an address range like 10.0.0.0/8'],
  },
  {
    is: "with endpoints of nothing",
    document: { networks: { a: { endpoints: [{}] } } },
    says: ["networks.a.endpoints[0]: exactly one of fromCidr and fromRegistry must be set"],
  },
  {
    is: "with a gateway of two addresses and no port",
    document: { networks: { a: { gateways: [{ address: "192.0.2.1", registryServiceName: "g.example" }] } } },
    says: [
      "networks.a.gateways[0]: exactly one of registryServiceName and address must be set",
      "networks.a.gateways[0].port: 0 is not a port, allowed are 1 to 65535",
    ],
  },
  {
    is: "with a gateway at a place that is none",
    document: { networks: { a: { gateways: [{ address: "10.0.0.1.7", port: 1 }] } } },
    says: ['networks.a.gateways[0].address: "10.0.0.1.7" is neither an IP address nor a host name'],
  },
  {
    is: "with one cluster in two networks",
    document: { networks: { a: { endpoints: [{ fromRegistry: "c" }] }, b: { endpoints: [{ fromRegistry: "c" }] } } },
    says: ["networks.b: registry c is in network a already"],
  },
])("a document that is $is says $says", ({ document, says }) => {
  expect(parseMeshNetworks(document).problems).toEqual(says);
});
