import { expect, test } from "vitest";
import { proxyScope } from "./alternate-hosts.ts";
import { buildLookupTable } from "./name-table.ts";
import { buildReverseIndex, reverseAddress } from "./reverse-lookup.ts";

test.each([
  { name: "4.3.2.1.in-addr.arpa.", hex: "01020304" },
  { name: `1.${"0.".repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa.`, hex: "20010db8000000000000000000000001" },
  { name: "3.2.1.in-addr.arpa.", hex: undefined },
  { name: "256.3.2.1.in-addr.arpa.", hex: undefined },
  { name: "04.3.2.1.in-addr.arpa.", hex: undefined },
  { name: "in-addr.arpa.", hex: undefined },
  { name: "1.0.ip6.arpa.", hex: undefined },
  { name: "www.example.com.", hex: undefined },
])("$name stands for the bytes $hex", ({ name, hex }) => {
  const bytes = reverseAddress(name);
  expect(bytes && Buffer.from(bytes, "latin1").toString("hex")).toBe(hex);
});

test("an address belongs to the Kubernetes host, then to the first by name, and never to a wildcard", () => {
  const message = {
    table: {
      "a.example": { ips: ["1.1.1.1", "2.2.2.2", "2001:db8::1"], registry: "External" },
      "*.0.example": { ips: ["1.1.1.1", "3.3.3.3"], registry: "External" },
      "b.example": { ips: ["2.2.2.2"], registry: "External" },
      "z.ns1.svc.cluster.local": { ips: ["1.1.1.1"], registry: "Kubernetes", shortname: "z", namespace: "ns1" },
    },
  };
  const scope = proxyScope("ns1", "ns1.svc.cluster.local");
  const table = buildLookupTable(message, { scope, ttlSeconds: 30, altHosts: true, wildcards: true });
  const owners = [...buildReverseIndex(table)].map(([bytes, { ownName }]) => [
    Buffer.from(bytes, "latin1").toString("hex"),
    ownName,
  ]);
  expect(Object.fromEntries(owners)).toEqual({
    "01010101": "z.ns1.svc.cluster.local.",
    "02020202": "a.example.",
    "20010db8000000000000000000000001": "a.example.",
  });
});
