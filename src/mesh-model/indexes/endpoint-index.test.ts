import { expect, test } from "vitest";
import { createTestMesh } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { documents, service } from "../../../test/support/mesh-model/test-objects.ts";
import type { Endpoint } from "../endpoint.ts";
import type { Service } from "../service.ts";
import { buildEndpointIndex } from "./endpoint-index.ts";

const { snapshot } = createTestMesh(
  documents(service({ name: "a" }), service({ name: "dns", resolution: "DNS", endpoints: [{ address: "x.example" }] })),
).take();
const [eds, dns] = snapshot.services as readonly [Service, Service];
const [one] = snapshot.endpoints(eds.key) as readonly [Endpoint];
const of = (address: string, serviceAccount: string, tlsMode: Endpoint["tlsMode"] = "istio"): Endpoint => {
  return { ...one, addresses: [address], serviceAccount, tlsMode };
};
const index = (endpoints: readonly Endpoint[], previous?: ReturnType<typeof buildEndpointIndex>, services = [eds]) =>
  buildEndpointIndex(services, () => endpoints, previous);

test("identities are sorted, each once, and workloads without one have none", () => {
  const made = index([of("1", "b"), of("2", "a"), of("3", "b"), of("4", "", "disabled")]);
  expect(made.shape(eds.key)).toMatchObject({ accounts: ["a", "b"], allMtls: false, inlined: [] });
  expect(index([of("1", "a")]).shape(eds.key).allMtls).toBe(true);
});

test.each([
  { is: "one more of the same identity", endpoints: [of("1", "a"), of("2", "a")], same: true },
  { is: "another identity", endpoints: [of("1", "b")], same: false },
  { is: "no identity any more", endpoints: [of("1", "a"), of("2", "", "disabled")], same: false },
])("$is leaves the shape the same value: $same", ({ endpoints, same }) => {
  const before = index([of("1", "a")]);
  const after = index(endpoints, before);
  expect(after).not.toBe(before);
  expect(after.endpoints(eds.key)).toBe(endpoints);
  expect(after.shape(eds.key) === before.shape(eds.key)).toBe(same);
});

test("endpoints that clusters or listeners spell out are a part of the shape", () => {
  const endpoints = [of("1", "a")];
  const before = index(endpoints, undefined, [dns]);
  expect(before.shape(dns.key).inlined).toBe(endpoints);
  expect(index([of("2", "a")], before, [dns]).shape(dns.key)).not.toBe(before.shape(dns.key));
  const resolved: Service = { ...dns, resolution: "ClientSideLB" };
  expect(index(endpoints, before, [resolved]).shape(dns.key).inlined).toEqual([]);
});

test("the same endpoints of the same services are the same index; a service less is another", () => {
  const endpoints = [of("1", "a")];
  const before = index(endpoints, undefined, [eds, dns]);
  expect(index(endpoints, before, [eds, dns])).toBe(before);
  expect(index(endpoints, before, [eds])).not.toBe(before);
  expect(before.endpoints("unknown")).toEqual([]);
  expect(before.shape("unknown").accounts).toEqual([]);
});
