import { describe, expect, test } from "vitest";
import { proxyScope } from "./alternate-hosts.ts";
import { lookup } from "./lookup.ts";
import { buildLookupTable } from "./name-table.ts";

const external = (ip: string) => ({ ips: [ip], registry: "External" });
const TABLE = buildLookupTable(
  {
    table: {
      "www.google.com": external("1.1.1.1"),
      "foo.ns1.svc.cluster.local": { ips: ["2.2.2.2"], registry: "Kubernetes", shortname: "foo", namespace: "ns1" },
      foo: external("3.3.3.3"),
      "*.wildcard": external("4.4.4.4"),
      "*.b.wildcard": external("5.5.5.5"),
      "exact.b.wildcard": external("6.6.6.6"),
      "*": external("8.8.4.4"),
      "*.below.ns1.svc.cluster.local": external("7.7.7.7"),
    },
  },
  { scope: proxyScope("ns1", "ns1.svc.cluster.local"), ttlSeconds: 30, altHosts: true, wildcards: true },
);
const S = "ns1.svc.cluster.local.";
const OPTIONS = { search: S, expandsSearchedNames: false };

describe("the host behind a name", () => {
  test.each([
    { name: "www.google.com.", own: "www.google.com." },
    { name: `www.google.com.${S}`, own: "www.google.com.", target: "www.google.com." },
    { name: "x.wildcard.", own: "*.wildcard." },
    { name: "x.y.z.wildcard.", own: "*.wildcard." },
    { name: "x.b.wildcard.", own: "*.b.wildcard." },
    { name: "exact.b.wildcard.", own: "exact.b.wildcard." },
    { name: "b.wildcard.", own: "*.wildcard." },
    { name: `x.b.wildcard.${S}`, own: "*.b.wildcard.", target: "*.b.wildcard." },
    { name: `exact.b.wildcard.${S}`, own: "exact.b.wildcard.", target: "exact.b.wildcard." },
    { name: `x.below.${S}`, own: `*.below.${S}` },
    // An alias made from "foo" must not hide the service of that name.
    { name: `foo.${S}`, own: `foo.${S}` },
    { name: "foo.", own: "foo." },
    { name: "*.", own: "*." },
  ])("$name is $own through $target", ({ name, own, target }) => {
    const match = lookup(TABLE, name, OPTIONS);
    expect(match?.entry.ownName).toBe(own);
    expect(match?.target).toBe(target);
  });

  test.each([
    "wildcard.",
    "google.com.",
    "com.",
    ".",
    "unknown.example.",
    // A bare wildcard takes nothing, neither directly nor below the search domain.
    `anything.at.all.${S}`,
    S,
    `foo.${S}${S}`,
    `x.below.${S}${S}`,
    `xns1.svc.cluster.local.`,
    `www.google.com.x${S}`,
    "www.google.com.svc.cluster.local.",
  ])("%s is unknown", (name) => {
    expect(lookup(TABLE, name, OPTIONS)).toBeUndefined();
  });
});

test("a generation that expands searched names knows them", () => {
  const match = lookup(TABLE, `foo.${S}${S}`, { ...OPTIONS, expandsSearchedNames: true });
  expect(match).toMatchObject({ target: `foo.${S}`, entry: { ownName: `foo.${S}` } });
});

test("without a search domain there are no aliases", () => {
  expect(lookup(TABLE, `www.google.com.${S}`, { ...OPTIONS, search: undefined })).toBeUndefined();
});
