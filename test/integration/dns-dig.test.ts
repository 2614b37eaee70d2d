import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, test } from "vitest";
import { type DnsFixture, SEARCH, startDnsFixture } from "../support/dns/fixture.ts";
import { aRecord } from "../support/dns/message.ts";
import { publicNames, replyTo, startDnsUpstream } from "../support/dns/upstream.ts";
import { needs } from "../support/needs.ts";

const run = promisify(execFile);

/** What dig prints; it checks ids, questions and the form of every reply by itself. */
async function dig({ address }: DnsFixture, ...args: readonly string[]): Promise<string> {
  const { stdout } = await run("dig", [`@${address.host}`, "-p", String(address.port), "+tries=1", "+time=3", ...args]);
  return stdout;
}

/** The answer section: one line per record, blanks joined. */
async function answers(fixture: DnsFixture, ...args: readonly string[]): Promise<string[]> {
  const text = await dig(fixture, "+noall", "+answer", ...args);
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.replace(/\s+/g, " "));
}

describe("dig", () => {
  beforeEach(needs("dig"));

  async function start() {
    const upstream = await startDnsUpstream(publicNames);
    const resolvConf = `nameserver 127.0.0.1\n${SEARCH}\n`;
    const fixture = await startDnsFixture({ resolvConf, upstreamPort: upstream.port });
    const close = async () => {
      await fixture[Symbol.asyncDispose]();
      await upstream[Symbol.asyncDispose]();
    };
    return { upstream, fixture, [Symbol.asyncDispose]: close };
  }

  test.each([["+notcp"], ["+tcp"]])("reads local answers (%s)", async (transport) => {
    await using started = await start();
    const { fixture } = started;
    expect(await answers(fixture, transport, "productpage.ns1")).toEqual(["productpage.ns1. 30 IN A 9.9.9.9"]);
    expect(await answers(fixture, transport, "dual.localhost", "AAAA")).toEqual([
      "dual.localhost. 30 IN AAAA 2001:db8::ff00:42:8329",
    ]);
    expect(await answers(fixture, transport, "www.google.com.ns1.svc.cluster.local")).toEqual([
      "www.google.com.ns1.svc.cluster.local. 30 IN CNAME www.google.com.",
      "www.google.com. 30 IN A 1.1.1.1",
    ]);
    expect(await answers(fixture, transport, "-x", "9.9.9.9")).toEqual([
      "9.9.9.9.in-addr.arpa. 30 IN PTR productpage.ns1.svc.cluster.local.",
    ]);
    expect((await answers(fixture, transport, "details.ns2.svc.cluster.remote")).toSorted()).toEqual(
      [11, 12, 13, 14].map((n) => `details.ns2.svc.cluster.remote. 30 IN A ${n}.${n}.${n}.${n}`),
    );
  });

  test("sees its letter case preserved", async () => {
    await using started = await start();
    const text = await dig(started.fixture, "PrOdUcTpAgE.nS1");
    expect(text).toMatch(/^;PrOdUcTpAgE\.nS1\.\s+IN\s+A$/m);
    expect(text).toContain("status: NOERROR");
  });

  test("gets an OPT record exactly when it sent one", async () => {
    await using started = await start();
    expect(await dig(started.fixture, "+edns", "productpage")).toMatch(
      /OPT PSEUDOSECTION:\n; EDNS: version: 0, flags:; udp: 1232/,
    );
    expect(await dig(started.fixture, "+noedns", "productpage")).not.toContain("OPT PSEUDOSECTION");
    expect(await dig(started.fixture, "+dnssec", "productpage")).toContain("flags: do; udp: 1232");
  });

  test("tells NODATA from NXDOMAIN", async () => {
    await using started = await start();
    expect(await dig(started.fixture, "productpage", "AAAA")).toMatch(/status: NOERROR.*\n.*ANSWER: 0/);
    expect(await dig(started.fixture, "productpage", "MX")).toMatch(/status: NOERROR.*\n.*ANSWER: 0/);
    expect(await dig(started.fixture, "example.")).toContain("status: NXDOMAIN");
  });

  test("follows a truncated answer to TCP", async () => {
    await using started = await start();
    expect(await dig(started.fixture, "+noedns", "+ignore", "giant.")).toMatch(/flags: qr tc/);
    const text = await dig(started.fixture, "+noedns", "giant.");
    expect(text).toContain("Truncated, retrying in TCP mode");
    expect(text).toContain("ANSWER: 64");
  });

  test("may send several questions over one connection", async () => {
    await using started = await start();
    const names = ["productpage", "www.bing.com", "www.google.com", "foo.wildcard"];
    expect(await answers(started.fixture, "+tcp", "+keepopen", ...names)).toHaveLength(4);
  });

  test("reads forwarded answers with their own TTL", async () => {
    await using started = await start();
    started.upstream.handle = (query) =>
      replyTo(query, { answers: [{ ...aRecord("www.bing.com.", "1.2.3.4"), ttl: 77 }] });
    expect(await answers(started.fixture, "www.bing.com")).toEqual(["www.bing.com. 77 IN A 1.2.3.4"]);
  });
});

describe("as root on port 53", () => {
  beforeEach(needs("root", "dig"));

  test("the machine's real servers come from the file put aside, and answer before the first table", async () => {
    await using upstream = await startDnsUpstream(publicNames, "127.0.0.61");
    await using other = await startDnsFixture();
    const rootResolvConfPath = join(dirname(other.resolvConfPath), "real-resolv.conf");
    await writeFile(rootResolvConfPath, "nameserver 127.0.0.61\n");
    // A loopback address of our own, as 127.0.0.1:53 may belong to the machine.
    await using fixture = await startDnsFixture({
      listen: "127.0.0.62:53",
      asRoot: true,
      rootResolvConfPath,
      resolvConf: "nameserver 127.0.0.62\n",
      upstreamPort: upstream.port,
      table: null,
    });
    expect(await answers(fixture, "www.bing.com")).toEqual(["www.bing.com. 60 IN A 1.1.1.1"]);
  });
});
