import { truncate, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { ask } from "../support/dns-client.ts";
import { eventually } from "../support/dns-eventually.ts";
import { startDnsFixture } from "../support/dns-fixture.ts";
import { aRecord } from "../support/dns-message.ts";
import { replyTo, startDnsUpstream, type UpstreamQuery } from "../support/dns-upstream.ts";

const SERVFAIL = 2;
const answering = (query: UpstreamQuery) =>
  replyTo(query, { answers: [aRecord(query.message.questions[0]?.name ?? ".", "1.1.1.1")] });
const ANSWERED = { rcode: 0, answers: [{ text: "1.1.1.1" }] };

test.each([2 ** 31, 9e15, Number.POSITIVE_INFINITY, -1, -9e15, Number.NaN])(
  "a limit of %d ms for upstream is no reason to fail at once",
  async (forwardTimeoutMs) => {
    await using upstream = await startDnsUpstream((query) => {
      // Later than a timer that cannot hold the limit would fire.
      setTimeout(() => upstream.send(answering(query), query), 30);
      return undefined;
    });
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port, forwardTimeoutMs });
    expect(await ask("udp", fixture.address, { name: "x.example." })).toMatchObject(ANSWERED);
  },
);

describe("nameservers that are none", () => {
  test.each([
    "not-an-address.invalid",
    "999.1.1.1",
    "127.0.0.1:53",
    "[::1]:53",
    "fe80::1%nosuchlink",
    "::1%",
    "a\0b",
    "-",
    "\u2603",
    "x".repeat(300),
  ])("%j fails its queries and nothing else", async (server) => {
    await using upstream = await startDnsUpstream(answering);
    const resolvConf = `nameserver ${server}\nnameserver 127.0.0.1\n`;
    await using fixture = await startDnsFixture({
      upstreamPort: upstream.port,
      resolvConf,
      forwardTimeoutMs: 4_000,
      generation: "1.20",
    });
    for (const transport of ["udp", "tcp"] as const) {
      expect(await ask(transport, fixture.address, { name: "x.example." })).toMatchObject(ANSWERED);
    }
  });
});

test("a resolv.conf that is emptied, as by a writer that is not done, leaves the last servers in use", async () => {
  await using upstream = await startDnsUpstream(answering);
  await using fixture = await startDnsFixture({ upstreamPort: upstream.port, limits: { resolvConfPollMs: 20 } });
  await truncate(fixture.resolvConfPath);
  await eventually(() => expect(fixture.log.lines.at(-1)?.message).toContain("resolv.conf"));
  expect(await ask("udp", fixture.address, { name: "x.example." })).toMatchObject(ANSWERED);
  await writeFile(fixture.resolvConfPath, "nameserver 127.0.0.9\n");
  await eventually(async () => {
    expect(await ask("udp", fixture.address, { name: "x.example." })).toMatchObject({ rcode: SERVFAIL });
  });
});
