import { expect, test } from "vitest";
import { createWorld, NODE } from "../../../test/support/discovery/world.ts";
import { derive } from "../../mesh-model/derive/derived.ts";
import { buildNetworks, type NetworkGateway } from "../../mesh-model/networks.ts";
import { ANY_SCOPE } from "../shared/worlds.ts";
import { generateEndpoints } from "./load-assignment.ts";

const WEB = "outbound|80||web.example";
const FAR: readonly NetworkGateway[] = [{ network: "far", clusterId: "", address: "192.0.2.1", port: 15443 }];
const TWO = [...FAR, { network: "far", clusterId: "", address: "192.0.2.2", port: 15443 }];

const entry = (endpoints: string) => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: web, namespace: default}
spec:
  hosts: [web.example]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{number: 80, name: http, protocol: HTTP, targetPort: 8080}]
  endpoints: [${endpoints}]
---`;
const near = "{address: 10.0.0.1, network: near, serviceAccount: web}";
const far = (address: string, more = "serviceAccount: web") => `{address: ${address}, network: far, ${more}}`;

const nodeOn = (network: string) => ({ ...NODE, metadata: { ...NODE.metadata, NETWORK: network } });

/** `address:port weight`, with a star for mutual TLS, by locality. */
function seen(endpoints: string, gateways: readonly NetworkGateway[], network = "near", rules = "") {
  const scope = createWorld(entry(endpoints) + rules, undefined, buildNetworks(gateways)).scope(nodeOn(network));
  return (generateEndpoints(scope, WEB).endpoints ?? []).map(({ lbEndpoints = [], loadBalancingWeight }) => [
    loadBalancingWeight,
    ...lbEndpoints.map(({ endpoint, loadBalancingWeight: weight = 1, metadata }) => {
      const { address, portValue } = endpoint?.address?.socketAddress ?? {};
      return `${address}:${portValue} ${weight}${metadata === undefined ? "" : "*"}`;
    }),
  ]);
}

test("endpoints of another network are its gateway, which weighs as much as they do together", () => {
  const endpoints = [near, far("10.0.0.2"), far("10.0.0.3", "serviceAccount: web, weight: 3")].join();
  expect(seen(endpoints, FAR)).toEqual([[5, "10.0.0.1:8080 1*", "192.0.2.1:15443 4*"]]);
  // Its own network's proxies call them directly, and so does one whose network is not known.
  expect(seen(endpoints, FAR, "far")).toEqual([[5, "10.0.0.1:8080 1*", "10.0.0.2:8080 1*", "10.0.0.3:8080 3*"]]);
  expect(seen(endpoints, FAR, "")).toEqual([[5, "10.0.0.1:8080 1*", "10.0.0.2:8080 1*", "10.0.0.3:8080 3*"]]);
});

test("several gateways share the weight in whole numbers", () => {
  expect(seen([near, far("10.0.0.2")].join(), TWO)).toEqual([
    [4, "10.0.0.1:8080 2*", "192.0.2.1:15443 1*", "192.0.2.2:15443 1*"],
  ]);
});

test("what has no mutual TLS cannot be called through a gateway, and a network without one is called directly", () => {
  const plain = far("10.0.0.2", "weight: 1");
  expect(seen([near, plain].join(), FAR)).toEqual([[1, "10.0.0.1:8080 1*"]]);
  expect(seen(plain, FAR)).toEqual([]);
  const elsewhere = [{ network: "third", clusterId: "", address: "192.0.2.9", port: 15443 }];
  expect(seen([near, plain].join(), elsewhere)).toEqual([[2, "10.0.0.1:8080 1*", "10.0.0.2:8080 1"]]);
});

test("a policy that switches mutual TLS off in the mesh leaves gateways with it", () => {
  const off = `
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: off, namespace: other}
spec: {mtls: {mode: DISABLE}}
---`;
  expect(seen(far("10.0.0.2"), FAR, "near", off)).toEqual([[1, "192.0.2.1:15443 1*"]]);
});

test("a gateway stands in the locality of what is behind it", () => {
  const place = (zone: string) => `serviceAccount: web, locality: r/${zone}`;
  expect(seen([far("10.0.0.2", place("a")), far("10.0.0.3", place("b"))].join(), FAR)).toEqual([
    [1, "192.0.2.1:15443 1*"],
    [1, "192.0.2.1:15443 1*"],
  ]);
});

test("the client's network counts only where there are gateways", () => {
  const isShared = (gateways: readonly NetworkGateway[]) => {
    const world = createWorld(entry(near), undefined, buildNetworks(gateways));
    const made = derive(ANY_SCOPE, world.scope(nodeOn("near")), (reader) => generateEndpoints(reader, WEB));
    return made.holdsIn(world.scope(nodeOn("far")));
  };
  expect([isShared([]), isShared(FAR)]).toEqual([true, false]);
});
