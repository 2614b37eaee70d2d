import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ask } from "../support/dns/client.ts";
import { type DnsFixture, MESH_TABLE, SEARCH, startDnsFixture } from "../support/dns/fixture.ts";
import { type DnsUpstream, publicNames, startDnsUpstream } from "../support/dns/upstream.ts";

const IPV6 = "20010db8000000000000ff0000428329";

interface Case {
  readonly ask: string;
  readonly type?: "AAAA";
  readonly edns?: number;
  readonly rcode?: number;
  /** "owner A data" or "owner CNAME data". */
  readonly answers: readonly string[];
  readonly flags?: readonly string[];
  readonly only?: "udp" | "tcp";
}

const a = (owner: string, ...addresses: string[]) => addresses.map((address) => `${owner} A ${address}`);
const alias = (owner: string, target: string) => `${owner} CNAME ${target}`;
const giant = (count: number) =>
  a("aaaaaaaaaaaa.aaaaaa.", ...Array.from({ length: count }, (_, index) => `240.0.0.${index}`));
const S = "ns1.svc.cluster.local.";
const NXDOMAIN = 3;

const CASES: readonly Case[] = [
  { ask: "www.google.com.", answers: a("www.google.com.", "1.1.1.1") },
  {
    ask: `www.google.com.${S}`,
    answers: [alias(`www.google.com.${S}`, "www.google.com."), ...a("www.google.com.", "1.1.1.1")],
  },
  { ask: "www.bing.com.", answers: a("www.bing.com.", "1.1.1.1") },
  { ask: `productpage.${S}`, answers: a(`productpage.${S}`, "9.9.9.9") },
  { ask: `productpage.${S}${S}`, rcode: NXDOMAIN, answers: [] },
  { ask: "productpage.ns1.", answers: a("productpage.ns1.", "9.9.9.9") },
  { ask: "productpage.", answers: a("productpage.", "9.9.9.9") },
  { ask: "productpage.ns1.svc.", answers: a("productpage.ns1.svc.", "9.9.9.9") },
  {
    ask: `productpage.ns1.${S}`,
    answers: [alias(`productpage.ns1.${S}`, "productpage.ns1."), ...a("productpage.ns1.", "9.9.9.9")],
  },
  { ask: `productpage.ns1.${S}`, type: "AAAA", answers: [] },
  { ask: "example.ns2.", answers: a("example.ns2.", "10.10.10.10") },
  { ask: "example.ns2.svc.cluster.local.", answers: a("example.ns2.svc.cluster.local.", "10.10.10.10") },
  { ask: "example.ns2.svc.", answers: a("example.ns2.svc.", "10.10.10.10") },
  { ask: "example.", rcode: NXDOMAIN, answers: [] },
  ...["", "ns1.", "ns1.svc.", S, "ns1.svc.clusterset.local."].map((rest) => ({
    ask: `svc-with-alt.${rest}`,
    answers: a(`svc-with-alt.${rest}`, "15.15.15.15"),
  })),
  { ask: "details.ns2.", rcode: NXDOMAIN, answers: [] },
  { ask: "dual.localhost.", answers: a("dual.localhost.", "2.2.2.2") },
  { ask: "dual.localhost.", type: "AAAA", answers: [`dual.localhost. AAAA ${IPV6}`] },
  { ask: "ipv6.localhost.", answers: [] },
  { ask: "ipv6.localhost.", type: "AAAA", answers: [`ipv6.localhost. AAAA ${IPV6}`] },
  { ask: "ipv4.localhost.", type: "AAAA", answers: [] },
  { ask: "foo.wildcard.", answers: a("foo.wildcard.", "10.10.10.10") },
  { ask: "a.b.wildcard.", answers: a("a.b.wildcard.", "11.11.11.11") },
  {
    ask: `foo.wildcard.${S}`,
    answers: [alias(`foo.wildcard.${S}`, "*.wildcard."), ...a("*.wildcard.", "10.10.10.10")],
  },
  { ask: "foo.svc.mesh.company.net.", answers: a("foo.svc.mesh.company.net.", "10.1.2.3") },
  { ask: "foo.foons.svc.mesh.company.net.", answers: a("foo.foons.svc.mesh.company.net.", "10.1.2.3") },
  {
    ask: `foo.svc.mesh.company.net.${S}`,
    answers: [
      alias(`foo.svc.mesh.company.net.${S}`, "*.svc.mesh.company.net."),
      ...a("*.svc.mesh.company.net.", "10.1.2.3"),
    ],
  },
  // Other agents fail here with SERVFAIL; a truncated answer sends the client to TCP, where it gets everything.
  { ask: "giant.", only: "udp", answers: giant(29), flags: ["tc"] },
  { ask: "giant.", only: "tcp", answers: giant(64) },
  { ask: "giant.", edns: 65_535, answers: giant(64) },
  { ask: "giant-tc.", answers: giant(29), flags: ["tc"] },
  { ask: "example.localhost.", answers: a("example.localhost.", "3.3.3.3") },
];

const TYPE_NAMES: Readonly<Record<number, string>> = { 1: "A", 5: "CNAME", 28: "AAAA" };

describe.each(["sequential", "parallel"] as const)("with %s forwarding", (forwardMode) => {
  let upstream: DnsUpstream;
  let fixture: DnsFixture;
  beforeAll(async () => {
    upstream = await startDnsUpstream(publicNames);
    fixture = await startDnsFixture({
      resolvConf: `nameserver 127.0.0.1\n${SEARCH}\n`,
      upstreamPort: upstream.port,
      forwardMode,
    });
  });
  afterAll(async () => {
    await fixture[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  });

  describe.each(["udp", "tcp"] as const)("over %s", (transport) => {
    const cases = CASES.filter(({ only }) => only === undefined || only === transport);
    test.each(cases)("$ask $type with EDNS size $edns gives $answers.length records", async (expected) => {
      const type = expected.type === "AAAA" ? 28 : 1;
      const edns = expected.edns === undefined ? {} : { edns: expected.edns };
      const reply = await ask(transport, fixture.address, { name: expected.ask, type, ...edns });
      const shown = reply.answers.map(({ name, type, text }) => `${name} ${TYPE_NAMES[type]} ${text}`);
      expect(shown).toEqual(expected.answers);
      expect(reply.rcode).toBe(expected.rcode ?? 0);
      expect(reply.id).toBe(4711);
      expect(reply.questions).toEqual([{ name: expected.ask, type, class: 1 }]);
      expect(reply.flags.includes("tc")).toBe(expected.flags?.includes("tc") ?? false);
      expect(reply.answers.every((record) => record.class === 1)).toBe(true);
    });
  });
});

test.each([
  { start: 2, order: ["13.13.13.13", "14.14.14.14", "12.12.12.12", "11.11.11.11"] },
  { start: 1, order: ["13.13.13.13", "14.14.14.14", "11.11.11.11", "12.12.12.12"] },
])("a random source that counts from $start gives the known order of addresses", async ({ start, order }) => {
  let count = start;
  await using fixture = await startDnsFixture({ random16: () => ++count });
  for (let round = 0; round < 2; round++) {
    count = start;
    const reply = await ask("udp", fixture.address, { name: "details.ns2.svc.cluster.remote." });
    expect(reply.answers.map((record) => record.text)).toEqual(order);
  }
});

test("a mute upstream gives SERVFAIL when the time for it is over, and not before", async () => {
  await using upstream = await startDnsUpstream(() => undefined);
  const replies: number[] = [];
  const askWithin = async (forwardTimeoutMs: number) => {
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port, forwardTimeoutMs });
    const began = performance.now();
    expect(await ask("udp", fixture.address, { name: "nowhere.example." })).toMatchObject({ rcode: 2, answers: [] });
    replies.push(forwardTimeoutMs);
    // Not before; a machine that stands still only adds to it.
    expect(performance.now() - began).toBeGreaterThanOrEqual(forwardTimeoutMs * 0.9);
  };
  await Promise.all([400, 100, 200].map(askWithin));
  expect(replies).toEqual([100, 200, 400]);
});

describe("the table shown for debugging", () => {
  test.each([
    { prefix: "www.google.com", keys: ["www.google.com", "www.google.com."] },
    {
      prefix: "example",
      keys: [
        "example.localhost.",
        "example.ns2.",
        "example.ns2.svc.",
        "example.ns2.svc.cluster.local",
        "example.ns2.svc.cluster.local.",
      ],
    },
    { prefix: "details", keys: ["details.ns2.svc.cluster.remote", "details.ns2.svc.cluster.remote."] },
    {
      prefix: "productpage",
      keys: [
        "productpage.",
        "productpage.ns1.",
        "productpage.ns1.svc.",
        "productpage.ns1.svc.cluster.local",
        "productpage.ns1.svc.cluster.local.",
      ],
    },
    {
      prefix: "svc-with-alt",
      keys: [
        "svc-with-alt.",
        "svc-with-alt.ns1.",
        "svc-with-alt.ns1.svc.",
        "svc-with-alt.ns1.svc.cluster.local",
        "svc-with-alt.ns1.svc.cluster.local.",
        "svc-with-alt.ns1.svc.clusterset.local.",
      ],
    },
    { prefix: "*.wildcard", keys: ["*.wildcard", "*.wildcard."] },
  ])("has for $prefix the keys $keys", async ({ prefix, keys }) => {
    await using fixture = await startDnsFixture();
    const shown = JSON.parse(fixture.server.describe() ?? "{}");
    expect(Object.keys(shown.table).filter((key) => key.startsWith(prefix))).toEqual(keys);
  });

  test("is absent before the first table, empty for an empty one, and keeps received entries as they are", async () => {
    await using fixture = await startDnsFixture({ table: null });
    expect(fixture.server.describe()).toBeUndefined();
    expect(fixture.server.notReadyReason()).toMatch(/DNS lookup table is not ready yet$/);
    fixture.server.updateNameTable({ table: {} });
    expect(fixture.server.describe()).toBe("{}");
    expect(fixture.server.notReadyReason()).toBeUndefined();
    fixture.server.updateNameTable(MESH_TABLE);
    expect(JSON.parse(fixture.server.describe() ?? "")).toMatchObject({ table: MESH_TABLE.table });
  });
});
