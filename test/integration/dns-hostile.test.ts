import { truncate, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { ask, exchangeUdp, queryBytes } from "../support/dns/client.ts";
import { startDnsFixture } from "../support/dns/fixture.ts";
import { aRecord } from "../support/dns/message.ts";
import { replyTo, startDnsUpstream, type UpstreamQuery } from "../support/dns/upstream.ts";
import { freePort } from "../support/net/free-ports.ts";
import { until } from "../support/wait/until.ts";

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
  await using fixture = await startDnsFixture({ upstreamPort: upstream.port });
  await truncate(fixture.resolvConfPath);
  await until(() => expect(fixture.log.lines.at(-1)?.message).toContain("resolv.conf"));
  expect(await ask("udp", fixture.address, { name: "x.example." })).toMatchObject(ANSWERED);
  await writeFile(fixture.resolvConfPath, "nameserver 127.0.0.9\n");
  await until(async () => {
    expect(await ask("udp", fixture.address, { name: "x.example." })).toMatchObject({ rcode: SERVFAIL });
  });
});

describe("a reply to the right question", () => {
  const spoilt = (bytes: (reply: Buffer) => Buffer) => (query: UpstreamQuery) => bytes(answering(query));
  /** Claims one more answer than there is. */
  const countingOneMore = (reply: Buffer) => {
    reply.writeUInt16BE(reply.readUInt16BE(6) + 1, 6);
    return reply;
  };

  test.each([
    { what: "that ends inside a record", spoil: (reply: Buffer) => reply.subarray(0, -1) },
    {
      what: "with junk for a record",
      spoil: (reply: Buffer) => Buffer.concat([countingOneMore(reply), Buffer.of(1, 2, 3)]),
    },
    {
      what: "with a name that points at itself",
      spoil: (reply: Buffer) => {
        const at = reply.length;
        const loop = Buffer.of(0xc0 | (at >> 8), at & 0xff, 0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 9, 9, 9, 9);
        return Buffer.concat([countingOneMore(reply), loop]);
      },
    },
  ])("$what is a failure of the server: the next one is asked", async ({ spoil }) => {
    const port = await freePort("127.0.0.2", "127.0.0.3");
    await using bad = await startDnsUpstream(spoilt(spoil), "127.0.0.2", port);
    await using good = await startDnsUpstream(answering, "127.0.0.3", port);
    const resolvConf = "nameserver 127.0.0.2\nnameserver 127.0.0.3\n";
    await using fixture = await startDnsFixture({ upstreamPort: port, resolvConf, generation: "1.20" });
    for (const transport of ["udp", "tcp"] as const) {
      expect(await ask(transport, fixture.address, { name: "x.example." })).toMatchObject(ANSWERED);
    }
    expect([bad.queries.length, good.queries.length]).toEqual([2, 2]);
  });

  test("with higher counts than records is relayed: some servers truncate so", async () => {
    await using upstream = await startDnsUpstream(spoilt(countingOneMore));
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port });
    const reply = await exchangeUdp(fixture.address, queryBytes({ name: "x.example." }));
    expect(reply?.readUInt16BE(6)).toBe(2);
  });
});
