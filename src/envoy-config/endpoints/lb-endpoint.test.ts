import { expect, test } from "vitest";
import { endpointOf } from "../../../test/support/discovery/endpoint.ts";
import { expandLabels } from "../../mesh-model/metric-labels.ts";
import { lbEndpoint, toAddress } from "./lb-endpoint.ts";

const options = { families: { ipv4: true, ipv6: false }, resolvesNames: false, isMtls: () => false };
const socket = (address: string) => ({ socketAddress: { address, portValue: 80 } });

test("a plain endpoint is its address and nothing more", () => {
  expect(lbEndpoint(endpointOf("10.0.0.1"), options)).toEqual({ endpoint: { address: socket("10.0.0.1") } });
});

test.each([
  { weight: 0, says: undefined },
  { weight: 1, says: undefined },
  { weight: 5, says: 5 },
])("a weight of $weight is written as $says", ({ weight, says }) => {
  expect(lbEndpoint(endpointOf("10.0.0.1", { weight }), options)?.loadBalancingWeight).toBe(says);
});

test.each([
  { health: "Unknown", says: undefined },
  { health: "Healthy", says: "HEALTHY" },
  { health: "UnHealthy", says: "UNHEALTHY" },
  { health: "Draining", says: "DRAINING" },
] as const)("an endpoint that is $health is shown as $says", ({ health, says }) => {
  expect(lbEndpoint(endpointOf("10.0.0.1", { health }), options)?.healthStatus).toBe(says);
});

test("metadata choose the mutual TLS of the cluster", () => {
  expect(lbEndpoint(endpointOf("10.0.0.1"), { ...options, isMtls: () => true })?.metadata).toEqual({
    filterMetadata: { "envoy.transport_socket_match": { tlsMode: "istio" } },
  });
});

test("a described endpoint says who it is and for which service it is called, in one text beside what else is known of it", () => {
  const labels = { app: "web", version: "v1", "service.istio.io/workload-name": "web-v1" };
  const describedFor = { host: "web.prod.svc", name: "web", namespace: "prod" };
  const found = lbEndpoint(endpointOf("10.0.0.1", { labels }), { ...options, isMtls: () => true, describedFor });
  const { "istio.peer": peer, ...others } = found?.metadata?.filterMetadata ?? {};
  expect(others).toEqual({ "envoy.transport_socket_match": { tlsMode: "istio" } });
  expect(Object.fromEntries(expandLabels(`@called=${String(peer?.labels)}`))).toMatchObject({
    destination_workload: "web-v1",
    destination_version: "v1",
    destination_service: "web.prod.svc",
    destination_service_namespace: "prod",
  });
});

test.each([
  { addresses: ["web.example"], resolvesNames: false, gives: undefined },
  { addresses: ["web.example"], resolvesNames: true, gives: [socket("web.example")] },
  { addresses: ["unix:///run/app.sock"], resolvesNames: false, gives: [{ pipe: { path: "/run/app.sock" } }] },
  { addresses: ["unix:///run/app.sock"], resolvesNames: true, gives: undefined },
  { addresses: [], resolvesNames: true, gives: undefined },
  { addresses: ["2001:db8::1"], resolvesNames: false, gives: [socket("2001:db8::1")] },
])("addresses $addresses, names resolved: $resolvesNames, give $gives", ({ addresses, resolvesNames, gives }) => {
  const found = lbEndpoint(endpointOf("", { addresses }), { ...options, resolvesNames });
  expect(found && [found.endpoint?.address]).toEqual(gives);
});

test.each([
  { ipv4: true, ipv6: false, first: "10.0.0.1", more: undefined },
  { ipv4: false, ipv6: true, first: "2001:db8::1", more: undefined },
  { ipv4: true, ipv6: true, first: "10.0.0.1", more: [{ address: socket("2001:db8::1") }] },
  { ipv4: false, ipv6: false, first: "10.0.0.1", more: undefined },
])("a proxy with IPv4 $ipv4 and IPv6 $ipv6 calls $first, else $more", ({ first, more, ...families }) => {
  const found = lbEndpoint(endpointOf("", { addresses: ["10.0.0.1", "2001:db8::1"] }), { ...options, families });
  expect(found?.endpoint?.address).toEqual(socket(first));
  expect(found?.endpoint?.additionalAddresses).toEqual(more);
});

test("paths and sockets have addresses of their own kind", () => {
  expect(toAddress("unix:///a", 0)).toEqual({ pipe: { path: "/a" } });
  expect(toAddress("::1", 80)).toEqual(socket("::1"));
});
