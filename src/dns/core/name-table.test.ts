import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { proxyScope } from "./alternate-hosts.ts";
import { buildInSteps, buildLookupTable } from "./name-table.ts";

const options = {
  scope: proxyScope("ns1", "ns1.svc.cluster.local"),
  ttlSeconds: 30,
  altHosts: true,
  wildcards: true,
};
const external = (...ips: string[]) => ({ ips, registry: "External" });
const service = (shortname: string, namespace: string, ...ips: string[]) => ({
  ips,
  registry: "Kubernetes",
  shortname,
  namespace,
});

test("records are encoded once per entry: IPv4 first, the question as owner, in table order", () => {
  const table = buildLookupTable({ table: { h: external("2001:db8::1", "1.2.3.4", "bogus", "5.6.7.8") } }, options);
  expect(table.hosts.get("h.")).toMatchObject({ start: 0, ipv4Count: 2, ipv6Count: 1 });
  expect(table.records.toString("hex")).toBe(
    "c00c000100010000001e000401020304" +
      "c00c000100010000001e000405060708" +
      "c00c001c00010000001e001020010db8000000000000000000000001",
  );
});

test("a zone of an address is not part of its record, and mapped IPv4 is IPv6", () => {
  const table = buildLookupTable({ table: { h: external("fe80::1%eth0", "::ffff:1.2.3.4") } }, options);
  expect(table.hosts.get("h.")).toMatchObject({ ipv4Count: 0, ipv6Count: 2 });
  expect(table.records.toString("hex")).toContain("fe800000000000000000000000000001");
});

test("an entry without usable address has no names", () => {
  const table = buildLookupTable({ table: { "a.b": external(), "c.d": external("172.217.0.0/16") } }, options);
  expect(table.hosts.size).toBe(0);
});

test("names are found in lower case", () => {
  expect([...buildLookupTable({ table: { "UPPER.Example.ORG": external("1.1.1.1") } }, options).hosts.keys()]).toEqual([
    "upper.example.org.",
  ]);
});

test("wildcards are retained by what they cover; a bare one covers nothing", () => {
  const message = { table: { "*.x.y": external("1.1.1.1"), "*": external("2.2.2.2") } };
  const table = buildLookupTable(message, options);
  expect([...table.wildcards.keys()]).toEqual(["x.y."]);
  expect([...table.hosts.keys()].sort()).toEqual(["*.", "*.x.y."]);
  expect(buildLookupTable(message, { ...options, wildcards: false }).wildcards.size).toBe(0);
});

describe("when several entries want one name", () => {
  test.each([
    {
      what: "the entry of that very name wins over a short form",
      table: {
        productpage: external("1.1.1.1"),
        "productpage.ns1.svc.cluster.local": service("productpage", "ns1", "2.2.2.2"),
      },
      name: "productpage.",
      owner: "productpage.",
    },
    {
      what: "Kubernetes wins over others",
      table: {
        "a.ns1.svc.cluster.local.": external("1.1.1.1"),
        "a.ns1.svc.cluster.local": service("a", "ns1", "2.2.2.2"),
      },
      name: "a.ns1.svc.cluster.local.",
      owner: "a.ns1.svc.cluster.local.",
      isKubernetes: true,
    },
    {
      what: "the host that sorts first wins among equals",
      table: {
        "z.ns1.svc.cluster.local": service("same", "ns1", "1.1.1.1"),
        "b.ns1.svc.cluster.local": service("same", "ns1", "2.2.2.2"),
      },
      name: "same.",
      owner: "b.ns1.svc.cluster.local.",
    },
  ])("$what, in whatever order they come", ({ table, name, owner, isKubernetes }) => {
    for (const entries of [Object.entries(table), Object.entries(table).reverse()]) {
      const entry = buildLookupTable({ table: Object.fromEntries(entries) }, options).hosts.get(name);
      expect(entry?.ownName).toBe(owner);
      if (isKubernetes !== undefined) expect(entry?.isKubernetes).toBe(isKubernetes);
    }
  });

  test("the order of any push never matters", () => {
    const label = fc.constantFrom("a", "b", "c");
    const entry = fc
      .tuple(label, label, fc.boolean(), fc.nat(255), fc.constantFrom("", "."))
      .map(([shortname, namespace, isService, ip, dot]) => {
        const host = (isService ? `${shortname}.${namespace}.svc.cluster.local` : `${shortname}.${namespace}`) + dot;
        const ips = [`10.0.0.${ip}`];
        return [host, isService ? service(namespace, shortname, ...ips) : external(...ips)] as const;
      });
    const address = (table: ReturnType<typeof buildLookupTable>) =>
      [...table.hosts]
        .map(([name, { start }]) => `${name} ${table.records.toString("hex", start + 12, start + 16)}`)
        .sort();
    fc.assert(
      fc.property(fc.uniqueArray(entry, { selector: ([host]) => host, maxLength: 12 }), fc.nat(), (entries, turn) => {
        const turned = [...entries.slice(turn % 12), ...entries.slice(0, turn % 12)].reverse();
        const tables = [entries, turned].map((order) =>
          buildLookupTable({ table: Object.fromEntries(order) }, options),
        );
        expect(tables.map(address)[0]).toEqual(tables.map(address)[1]);
      }),
    );
  });
});

test("a table built in steps is the table built at once", () => {
  const table = Object.fromEntries(
    Array.from({ length: 25 }, (_, index) => [`h${index}.example`, external(`10.0.0.${index}`)]),
  );
  const steps = buildInSteps({ table }, options, 10);
  expect([steps.next().done, steps.next().done]).toEqual([false, false]);
  const { done, value } = steps.next();
  expect(done).toBe(true);
  expect(value).toEqual(buildLookupTable({ table }, options));
});
