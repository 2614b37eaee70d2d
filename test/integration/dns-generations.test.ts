import { describe, expect, test } from "vitest";
import { ask } from "../support/dns/client.ts";
import { SEARCH, startDnsFixture } from "../support/dns/fixture.ts";
import { publicNames, startDnsUpstream } from "../support/dns/upstream.ts";

const NXDOMAIN = 3;
const S = "ns1.svc.cluster.local.";

async function start(generation: "master" | "1.20" | "1.8") {
  const upstream = await startDnsUpstream(publicNames);
  const resolvConf = `nameserver 127.0.0.1\n${SEARCH}\n`;
  const fixture = await startDnsFixture({ generation, resolvConf, upstreamPort: upstream.port });
  const close = async () => {
    await fixture[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
  };
  return { fixture, [Symbol.asyncDispose]: close };
}

describe("generation 1.20", () => {
  test("answers names below the search domain with the search domain once more", async () => {
    await using started = await start("1.20");
    const reply = await ask("udp", started.fixture.address, { name: `productpage.${S}${S}` });
    expect(reply.answers.map(({ text }) => text)).toEqual([`productpage.${S}`, "9.9.9.9"]);
  });

  test("is otherwise what the current one is", async () => {
    await using started = await start("1.20");
    expect(await ask("udp", started.fixture.address, { name: "foo.wildcard." })).toMatchObject({
      flags: ["qr", "aa", "rd"],
      rcode: 0,
    });
    expect(started.fixture.server.describe()).toContain('"productpage.ns1."');
  });
});

describe("generation 1.8", () => {
  test.each([
    { what: "a service", name: "productpage.", rcode: 0, answers: ["9.9.9.9"] },
    { what: "a search-expanded name", name: `www.google.com.${S}`, rcode: 0, answers: ["www.google.com.", "1.1.1.1"] },
    { what: "a name below a wildcard", name: "foo.wildcard.", rcode: NXDOMAIN, answers: [] },
    { what: "another host of a service", name: "svc-with-alt.ns1.svc.clusterset.local.", rcode: NXDOMAIN, answers: [] },
    { what: "the wrong family", name: "ipv6.localhost.", rcode: NXDOMAIN, answers: [] },
  ])("$what: rcode $rcode, $answers", async ({ name, rcode, answers }) => {
    await using started = await start("1.8");
    const reply = await ask("udp", started.fixture.address, { name });
    expect(reply.rcode).toBe(rcode);
    expect(reply.answers.map(({ text }) => text)).toEqual(answers);
    expect(reply.flags).not.toContain("aa");
  });

  test("keeps the order of addresses, is always ready, and shows no table", async () => {
    await using started = await start("1.8");
    const { server, address } = started.fixture;
    for (let round = 0; round < 10; round++) {
      const { answers } = await ask("udp", address, { name: "details.ns2.svc.cluster.remote." });
      expect(answers.map(({ text }) => text)).toEqual(["11.11.11.11", "12.12.12.12", "13.13.13.13", "14.14.14.14"]);
    }
    expect(server.notReadyReason()).toBeUndefined();
    expect(server.describe()).toBeUndefined();
  });
});
