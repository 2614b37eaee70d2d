import { expect, test } from "vitest";
import { buildNetworks, type NetworkGateway, NO_NETWORKS } from "./networks.ts";

const gateway = (network: string, clusterId: string, address: string): NetworkGateway => ({
  network,
  clusterId,
  address,
  port: 15443,
});

test("gateways of the cluster count before those of the network", () => {
  const [own, other] = [gateway("n", "c1", "192.0.2.1"), gateway("n", "c2", "192.0.2.2")];
  const networks = buildNetworks([other, own, gateway("", "c1", "192.0.2.9")]);
  expect(networks.gateways).toEqual([own, other]);
  expect(networks.leadingTo("n", "c2")).toEqual([other]);
  expect(networks.leadingTo("n", "c3")).toEqual([own, other]);
  expect(networks.leadingTo("elsewhere", "c1")).toEqual([]);
});

test("weights can be shared out among the gateways of every network and cluster", () => {
  const many = [1, 2, 3].map((at) => gateway("a", `c${at}`, `192.0.2.${at}`));
  const two = [gateway("b", "", "192.0.2.8"), gateway("b", "", "192.0.2.9")];
  expect(buildNetworks([...many, ...two]).weightScale).toBe(6);
});

test("equal gateways in any order are the same value", () => {
  const [a, b] = [gateway("a", "", "192.0.2.1"), gateway("b", "", "192.0.2.2")];
  const networks = buildNetworks([a, b]);
  expect(buildNetworks([{ ...b }, { ...a }, a], networks)).toBe(networks);
  expect(buildNetworks([], networks)).toBe(NO_NETWORKS);
});
