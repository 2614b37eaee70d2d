import { describe, expect, test } from "vitest";
import type { ScopeTraits } from "../../mesh-model/push-snapshot.ts";
import type { Service } from "../../mesh-model/service.ts";
import {
  hasFamily,
  isWildcardBind,
  listenerAddress,
  loopbackBinds,
  virtualAddresses,
  wildcardBinds,
} from "./addresses.ts";

const FAMILIES = {
  none: { ipv4: false, ipv6: false },
  ipv4: { ipv4: true, ipv6: false },
  ipv6: { ipv4: false, ipv6: true },
  both: { ipv4: true, ipv6: true },
};
type FamilyName = keyof typeof FAMILIES;

test.each<{ has: FamilyName; wildcard: readonly string[]; loopback: readonly string[] }>([
  { has: "none", wildcard: ["0.0.0.0"], loopback: ["127.0.0.1"] },
  { has: "ipv4", wildcard: ["0.0.0.0"], loopback: ["127.0.0.1"] },
  { has: "ipv6", wildcard: ["::"], loopback: ["::1"] },
  { has: "both", wildcard: ["0.0.0.0", "::"], loopback: ["127.0.0.1", "::1"] },
])(
  "a proxy with addresses of $has listens at $wildcard, and for itself at $loopback",
  ({ has, wildcard, loopback }) => {
    expect(wildcardBinds(FAMILIES[has])).toEqual(wildcard);
    expect(loopbackBinds(FAMILIES[has])).toEqual(loopback);
    expect(wildcard.every(isWildcardBind)).toBe(true);
    expect(loopback.some(isWildcardBind)).toBe(false);
  },
);

describe("the place of a listener", () => {
  test("is named after its first address", () => {
    expect(listenerAddress(["0.0.0.0", "::"], 80)).toEqual({
      name: "0.0.0.0_80",
      address: { socketAddress: { address: "0.0.0.0", portValue: 80 } },
      additionalAddresses: [{ address: { socketAddress: { address: "::", portValue: 80 } } }],
    });
  });

  test("may be one address", () => {
    expect(listenerAddress(["::1"], 80)).toEqual({
      name: "::1_80",
      address: { socketAddress: { address: "::1", portValue: 80 } },
    });
  });

  test("may be a socket file", () => {
    expect(listenerAddress(["unix:///run/app.sock"], 0)).toEqual({
      name: "unix:///run/app.sock_0",
      address: { pipe: { path: "/run/app.sock" } },
    });
  });
});

test.each<{ address: string; families: readonly FamilyName[] }>([
  { address: "10.0.0.1", families: ["none", "ipv4", "both"] },
  { address: "10.0.0.0/8", families: ["none", "ipv4", "both"] },
  { address: "2001:db8::1", families: ["ipv6", "both"] },
  { address: "2001:db8::/32", families: ["ipv6", "both"] },
  { address: "web.example", families: [] },
  { address: "", families: [] },
])("$address can be called by proxies with $families", ({ address, families }) => {
  const able = (Object.keys(FAMILIES) as FamilyName[]).filter((name) => hasFamily(address, FAMILIES[name]));
  expect(able).toEqual(families);
});

describe("addresses of a service", () => {
  const addressesOf = (service: Partial<Service>, traits: Partial<ScopeTraits> = {}) =>
    virtualAddresses(
      { addresses: [], ...service } as Service,
      { ...FAMILIES.both, dnsCapture: false, dnsAutoAllocate: false, ...traits } as ScopeTraits,
    );

  test.each<{
    name: string;
    addresses: readonly string[];
    traits?: Partial<ScopeTraits>;
    plain: readonly string[];
    ranges: readonly string[];
    isForeign: boolean;
  }>([
    { name: "none", addresses: [], plain: [], ranges: [], isForeign: false },
    { name: "one", addresses: ["10.0.0.1"], plain: ["10.0.0.1"], ranges: [], isForeign: false },
    { name: "a range", addresses: ["10.0.0.0/8"], plain: [], ranges: ["10.0.0.0/8"], isForeign: false },
    {
      name: "ranges of one address",
      addresses: ["10.0.0.1/32", "::1/128"],
      plain: ["10.0.0.1", "::1"],
      ranges: [],
      isForeign: false,
    },
    {
      name: "an IPv6 range of the length of an IPv4 address",
      addresses: ["::/32"],
      plain: [],
      ranges: ["::/32"],
      isForeign: false,
    },
    {
      name: "of a family that the proxy lacks",
      addresses: ["2001:db8::1", "10.0.0.1"],
      traits: FAMILIES.ipv4,
      plain: ["10.0.0.1"],
      ranges: [],
      isForeign: false,
    },
    {
      name: "only of such a family",
      addresses: ["2001:db8::1"],
      traits: FAMILIES.ipv4,
      plain: [],
      ranges: [],
      isForeign: true,
    },
  ])("$name", ({ addresses, traits, plain, ranges, isForeign }) => {
    expect(addressesOf({ addresses }, traits)).toEqual({ plain, ranges, isForeign });
  });

  const autoAllocated = { ipv4: "240.240.0.1", ipv6: "2001:2::f0f0:1" };
  test.each<{ traits: Partial<ScopeTraits>; plain: readonly string[] }>([
    { traits: { dnsCapture: true, dnsAutoAllocate: true }, plain: ["240.240.0.1", "2001:2::f0f0:1"] },
    { traits: { dnsCapture: true, dnsAutoAllocate: true, ipv6: false }, plain: ["240.240.0.1"] },
    { traits: { dnsCapture: false, dnsAutoAllocate: true }, plain: [] },
    { traits: { dnsCapture: true, dnsAutoAllocate: false }, plain: [] },
  ])("that are given out are for proxies whose agent answers names: $traits", ({ traits, plain }) => {
    expect(addressesOf({ autoAllocated }, traits).plain).toEqual(plain);
  });

  test("that are given out do not stand beside those of the service", () => {
    const traits = { dnsCapture: true, dnsAutoAllocate: true };
    expect(addressesOf({ addresses: ["10.0.0.1"], autoAllocated }, traits).plain).toEqual(["10.0.0.1"]);
  });
});
