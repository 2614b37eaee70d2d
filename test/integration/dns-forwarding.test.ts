import { rename, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { ask, exchangeUdp, queryBytes } from "../support/dns/client.ts";
import { SEARCH, startDnsFixture } from "../support/dns/fixture.ts";
import { aRecord, decodeMessage, encodeMessage, optRecord } from "../support/dns/message.ts";
import { replyTo, startDnsUpstream, type UpstreamHandler } from "../support/dns/upstream.ts";
import { freePort } from "../support/net/free-ports.ts";
import { until } from "../support/wait/until.ts";
import { waitInTurns } from "../support/wait/wait-in-turns.ts";

const [SERVFAIL, NXDOMAIN, REFUSED] = [2, 3, 5];
const [A, MX, PTR, HTTPS] = [1, 15, 12, 65];

const answering =
  (address: string): UpstreamHandler =>
  (query) =>
    replyTo(query, { answers: [aRecord(query.message.questions[0]?.name ?? ".", address)] });
const saying =
  (rcode: number): UpstreamHandler =>
  (query) =>
    replyTo(query, { rcode });
const mute: UpstreamHandler = () => undefined;

/** Two nameservers, asked in the order of the file. */
async function startPair(first: UpstreamHandler, second: UpstreamHandler) {
  const port = await freePort("127.0.0.2", "127.0.0.3");
  const one = await startDnsUpstream(first, "127.0.0.2", port);
  const two = await startDnsUpstream(second, "127.0.0.3", port);
  const resolvConf = "nameserver 127.0.0.2\nnameserver 127.0.0.3\n";
  const close = async () => {
    await one[Symbol.asyncDispose]();
    await two[Symbol.asyncDispose]();
  };
  return {
    one,
    two,
    options: { resolvConf, upstreamPort: one.port, generation: "1.20" as const },
    [Symbol.asyncDispose]: close,
  };
}

describe("the next server is asked", () => {
  test.each([
    { what: "the first says SERVFAIL", first: saying(SERVFAIL) },
    { what: "the first says REFUSED", first: saying(REFUSED) },
    {
      what: "the first refuses with a bare header",
      first: ((query) => encodeMessage({ id: query.message.id, flags: ["qr"], rcode: REFUSED })) as UpstreamHandler,
    },
    { what: "the first is mute", first: mute },
  ])("when $what", async ({ first }) => {
    await using pair = await startPair(first, answering("2.2.2.2"));
    await using fixture = await startDnsFixture({ ...pair.options, forwardTimeoutMs: 1_000 });
    for (const transport of ["udp", "tcp"] as const) {
      const reply = await ask(transport, fixture.address, { name: "x.example." });
      expect(reply).toMatchObject({ rcode: 0, answers: [{ text: "2.2.2.2" }] });
    }
    expect(pair.one.queries).toHaveLength(2);
  });

  test("at once when the first one's port is closed", async () => {
    await using pair = await startPair(mute, answering("2.2.2.2"));
    await pair.one[Symbol.asyncDispose]();
    await using fixture = await startDnsFixture({ ...pair.options, forwardTimeoutMs: 20_000 });
    for (const transport of ["udp", "tcp"] as const) {
      const reply = await ask(transport, fixture.address, { name: "x.example.", timeoutMs: 5_000 });
      expect(reply).toMatchObject({ answers: [{ text: "2.2.2.2" }] });
    }
    const lines = fixture.log.lines.map(({ message }) => message);
    expect(lines).toContain("upstream failure: udp 127.0.0.2: connection refused");
  });

  test("and a late answer of the first still counts", async () => {
    await using pair = await startPair(mute, mute);
    await using fixture = await startDnsFixture({ ...pair.options, forwardTimeoutMs: 1_000 });
    const asked = ask("udp", fixture.address, { name: "x.example." });
    await until(() => expect(pair.two.queries).toHaveLength(1));
    const [query] = pair.one.queries;
    if (query === undefined) throw new Error("the first server was not asked");
    pair.one.send(answering("1.1.1.1")(query) as Buffer, query);
    expect(await asked).toMatchObject({ answers: [{ text: "1.1.1.1" }] });
  });

  test("but a name that does not exist is an answer", async () => {
    await using pair = await startPair(saying(NXDOMAIN), answering("2.2.2.2"));
    await using fixture = await startDnsFixture(pair.options);
    expect(await ask("udp", fixture.address, { name: "x.example." })).toMatchObject({ rcode: NXDOMAIN });
    expect(pair.two.queries).toHaveLength(0);
  });
});

test("when every server refuses, the first refusal is relayed", async () => {
  await using pair = await startPair(saying(REFUSED), saying(SERVFAIL));
  await using fixture = await startDnsFixture(pair.options);
  expect(await ask("udp", fixture.address, { name: "x.example." })).toMatchObject({
    rcode: REFUSED,
    flags: ["qr", "rd", "ra"],
  });
  expect(fixture.registry.render()).not.toContain("dns_upstream_failures_total");
});

test("all servers together have one timeout", async () => {
  await using pair = await startPair(mute, mute);
  await using fixture = await startDnsFixture({ ...pair.options, forwardTimeoutMs: 1_000 });
  const twice = waitInTurns(2 * 1_000).then(() => "after two timeouts");
  const reply = ask("udp", fixture.address, { name: "x.example." });
  expect(await Promise.race([reply, twice])).toMatchObject({ rcode: SERVFAIL });
});

test("parallel mode asks all servers and takes the fastest useful answer", async () => {
  await using pair = await startPair(saying(SERVFAIL), answering("2.2.2.2"));
  await using fixture = await startDnsFixture({ ...pair.options, forwardMode: "parallel" });
  expect(await ask("udp", fixture.address, { name: "x.example." })).toMatchObject({ answers: [{ text: "2.2.2.2" }] });
  expect([pair.one.queries.length, pair.two.queries.length]).toEqual([1, 1]);
});

test("the current generation does not always start with the same server", async () => {
  await using pair = await startPair(answering("1.1.1.1"), answering("2.2.2.2"));
  await using fixture = await startDnsFixture({ ...pair.options, generation: "master" });
  for (let index = 0; index < 40; index++) await ask("udp", fixture.address, { name: `${index}.example.` });
  expect(pair.one.queries.length).toBeGreaterThan(0);
  expect(pair.two.queries.length).toBeGreaterThan(0);
});

describe.each(["sequential", "parallel"] as const)("%s mode without any nameserver", (forwardMode) => {
  test("fails at once, and stopping does not wait", async () => {
    await using fixture = await startDnsFixture({ resolvConf: "", forwardMode, forwardTimeoutMs: 60_000 });
    expect(await ask("udp", fixture.address, { name: "x.example." })).toMatchObject({ rcode: SERVFAIL, answers: [] });
    expect(await ask("udp", fixture.address, { name: "productpage." })).toMatchObject({ rcode: 0 });
  });
});

describe("a truncated answer", () => {
  const records = (count: number) => Array.from({ length: count }, (_, index) => aRecord("big.", `10.0.0.${index}`));
  const truncating: UpstreamHandler = (query) =>
    query.transport === "udp" ? replyTo(query, { flags: ["tc"] }) : replyTo(query, { answers: records(50) });

  test("is asked for again over TCP, and the whole goes to a client that can take it", async () => {
    await using upstream = await startDnsUpstream(truncating);
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port });
    const reply = await ask("udp", fixture.address, { name: "big.", edns: 4096 });
    expect(reply.answers).toHaveLength(50);
    expect(reply.flags).not.toContain("tc");
    expect(upstream.queries.map(({ transport }) => transport)).toEqual(["udp", "tcp"]);
  });

  test("is cut for a client that cannot", async () => {
    await using upstream = await startDnsUpstream(truncating);
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port });
    const reply = await ask("udp", fixture.address, { name: "big." });
    expect(reply.answers.length).toBe(30);
    expect(reply.flags).toContain("tc");
  });

  test("is relayed as it is when TCP fails", async () => {
    const shut: UpstreamHandler = (query) =>
      query.transport === "udp" ? replyTo(query, { answers: records(2), flags: ["tc"] }) : Buffer.from("junk");
    await using upstream = await startDnsUpstream(shut);
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port });
    const reply = await ask("udp", fixture.address, { name: "big.", edns: 4096 });
    expect(reply.answers).toHaveLength(2);
    expect(reply.flags).toContain("tc");
  });
});

describe("against planted answers", () => {
  test("replies to another question or another transaction are passed over", async () => {
    await using upstream = await startDnsUpstream((query) => {
      const { id, questions } = query.message;
      const [question] = questions;
      const forged = { flags: ["qr"] as const, answers: [aRecord("x.example.", "6.6.6.6")] };
      return [
        encodeMessage({ id, questions: [{ ...question, name: "y.example." }], ...forged }),
        encodeMessage({ id, questions: [{ ...question, type: 28 }], ...forged }),
        encodeMessage({ id: (id + 1) & 0xffff, questions, ...forged }),
        encodeMessage({ id, ...forged }),
        Buffer.from("x"),
        replyTo(query, { answers: [aRecord("x.example.", "1.1.1.1")] }),
      ];
    });
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port });
    expect(await ask("udp", fixture.address, { name: "x.example." })).toMatchObject({ answers: [{ text: "1.1.1.1" }] });
  });

  test("over TCP such a reply is a failure of the server", async () => {
    await using upstream = await startDnsUpstream((query) => replyTo(query, { questions: [{ name: "y.example." }] }));
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port });
    expect(await ask("tcp", fixture.address, { name: "x.example." })).toMatchObject({ rcode: SERVFAIL });
  });

  test("transaction ids and source ports change, while the client keeps its own id", async () => {
    await using upstream = await startDnsUpstream(answering("1.1.1.1"));
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port, limits: { queriesPerSocket: 4 } });
    for (let index = 0; index < 40; index++) {
      expect(await ask("udp", fixture.address, { name: `${index}.example.`, id: 4711 })).toMatchObject({ id: 4711 });
    }
    expect(new Set(upstream.queries.map(({ message }) => message.id)).size).toBeGreaterThan(35);
    expect(new Set(upstream.queries.map(({ peerPort }) => peerPort)).size).toBeGreaterThanOrEqual(9);
  });
});

describe("identical questions at the same time", () => {
  test("are asked upstream once, and everybody gets the answer under his own id", async () => {
    await using upstream = await startDnsUpstream(mute);
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port });
    const clients = Array.from({ length: 50 }, (_, id) => ask("udp", fixture.address, { name: "x.example.", id }));
    await until(() => expect(fixture.registry.render()).toContain("dns_upstream_requests_total 50"));
    const [query] = upstream.queries;
    if (query === undefined) throw new Error("nothing was asked");
    upstream.send(answering("1.1.1.1")(query) as Buffer, query);
    const replies = await Promise.all(clients);
    expect(replies.map(({ id }) => id)).toEqual(Array.from({ length: 50 }, (_, id) => id));
    expect(upstream.queries).toHaveLength(1);
  });

  test("with other options are different questions", async () => {
    await using upstream = await startDnsUpstream(mute);
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port, forwardTimeoutMs: 300 });
    await Promise.all([
      ask("udp", fixture.address, { name: "x.example." }),
      ask("udp", fixture.address, { name: "x.example.", edns: 1232 }),
      ask("udp", fixture.address, { name: "X.example." }),
    ]);
    expect(upstream.queries).toHaveLength(3);
  });
});

test("beyond the limit of waiting questions new ones fail at once, known ones still join", async () => {
  await using upstream = await startDnsUpstream(mute);
  await using fixture = await startDnsFixture({
    upstreamPort: upstream.port,
    forwardTimeoutMs: 2_000,
    limits: { maxForwards: 1 },
  });
  const first = ask("udp", fixture.address, { name: "a.example." });
  await until(() => expect(upstream.queries).toHaveLength(1));
  const second = ask("udp", fixture.address, { name: "b.example." });
  const order = [first.then(() => "first"), second.then(() => "second")];
  expect(await Promise.race(order)).toBe("second");
  expect(await second).toMatchObject({ rcode: SERVFAIL });
  expect(await first).toMatchObject({ rcode: SERVFAIL });
  expect(upstream.queries).toHaveLength(1);
});

describe("the forwarded message", () => {
  test("is the client's, apart from the transaction id, and the reply comes back unchanged", async () => {
    await using upstream = await startDnsUpstream((query) =>
      replyTo(query, {
        answers: [aRecord("x.example.", "1.1.1.1")],
        additionals: [optRecord(1400, 0x8000, Buffer.from("0003000261", "hex"))],
      }),
    );
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port });
    const cookie = Buffer.from("000a00080102030405060708", "hex");
    const query = encodeMessage({
      id: 9,
      flags: ["rd", "ad", "cd"],
      questions: [{ name: "X.example." }],
      additionals: [optRecord(1400, 0x8000, cookie)],
    });
    const reply = await exchangeUdp(fixture.address, query);
    expect(upstream.queries[0]?.bytes.subarray(2)).toEqual(query.subarray(2));
    expect(decodeMessage(reply)).toMatchObject({
      id: 9,
      questions: [{ name: "X.example." }],
      additionals: [{ class: 1400, ttl: 0x8000 }],
    });
  });

  test("may be longer than 512 bytes", async () => {
    await using upstream = await startDnsUpstream(answering("1.1.1.1"));
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port });
    const query = encodeMessage({
      questions: [{ name: "x.example." }],
      additionals: [optRecord(4096, 0, Buffer.alloc(900))],
    });
    expect(decodeMessage(await exchangeUdp(fixture.address, query))).toMatchObject({ rcode: 0 });
  });

  test("is completed with zeros when its question was cut", async () => {
    await using upstream = await startDnsUpstream((query) => replyTo(query, { rcode: 1 }));
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port });
    const reply = await exchangeUdp(fixture.address, queryBytes({ name: "x.example." }).subarray(0, -4));
    expect(decodeMessage(reply)).toMatchObject({ rcode: 1, questions: [{ name: "x.example.", type: 0, class: 0 }] });
  });
});

describe("who answers", () => {
  const elsewhere: UpstreamHandler = (query) => replyTo(query, { rcode: NXDOMAIN });
  test.each([
    { what: "MX of a service", name: "productpage.", type: MX, forwarded: false, rcode: 0 },
    { what: "HTTPS of an external host", name: "www.google.com.", type: HTTPS, forwarded: false, rcode: 0 },
    {
      what: "MX of an external host, which cannot be 'no such name'",
      name: "www.google.com.",
      type: MX,
      forwarded: true,
      rcode: 0,
    },
    { what: "MX of an unknown host", name: "x.example.", type: MX, forwarded: true, rcode: NXDOMAIN },
    { what: "a service in another class", name: "productpage.", type: A, class: 3, forwarded: true, rcode: NXDOMAIN },
    { what: "a service in any class", name: "productpage.", type: A, class: 255, forwarded: false, rcode: 0 },
    { what: "the root", name: ".", type: A, forwarded: true, rcode: NXDOMAIN },
    {
      what: "the name of a mesh address",
      name: "9.9.9.9.in-addr.arpa.",
      type: PTR,
      forwarded: false,
      rcode: 0,
      text: "productpage.ns1.svc.cluster.local.",
    },
    { what: "the name of another address", name: "9.9.9.8.in-addr.arpa.", type: PTR, forwarded: true, rcode: NXDOMAIN },
    { what: "a pointer that is not an address", name: "x.in-addr.arpa.", type: PTR, forwarded: true, rcode: NXDOMAIN },
  ])("$what: forwarded $forwarded, rcode $rcode", async (expected) => {
    await using upstream = await startDnsUpstream(elsewhere);
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port });
    const { name, type, class: klass = 1 } = expected;
    const reply = await ask("udp", fixture.address, { name, type, class: klass });
    expect(reply.rcode).toBe(expected.rcode);
    expect(upstream.queries).toHaveLength(expected.forwarded ? 1 : 0);
    if (expected.text !== undefined) expect(reply.answers).toMatchObject([{ text: expected.text }]);
  });

  test.each([MX, HTTPS, PTR])(
    "with forwarding of other types wanted, type %i goes upstream and comes back as it is",
    async (type) => {
      await using upstream = await startDnsUpstream(elsewhere);
      await using fixture = await startDnsFixture({ upstreamPort: upstream.port, forwardsOtherTypes: true });
      const name = type === PTR ? "9.9.9.9.in-addr.arpa." : "productpage.";
      expect(await ask("udp", fixture.address, { name, type })).toMatchObject({ rcode: NXDOMAIN });
      expect(upstream.queries).toHaveLength(1);
    },
  );
});

describe("before the first table", () => {
  test("every question fails", async () => {
    await using upstream = await startDnsUpstream(answering("1.1.1.1"));
    await using fixture = await startDnsFixture({ table: null, upstreamPort: upstream.port });
    const reply = await ask("udp", fixture.address, { name: "x.example.", edns: 1232 });
    expect(reply).toMatchObject({ rcode: SERVFAIL, flags: ["qr", "rd"], answers: [], additionals: [{ type: 41 }] });
    expect(upstream.queries).toHaveLength(0);
    expect(fixture.registry.render()).toContain("dns_requests_total 1");
  });

  test("questions go upstream when that is wanted", async () => {
    await using upstream = await startDnsUpstream(answering("1.1.1.1"));
    await using fixture = await startDnsFixture({ table: null, upstreamPort: upstream.port, forwardsBeforeSync: true });
    expect(await ask("tcp", fixture.address, { name: "x.example." })).toMatchObject({ answers: [{ text: "1.1.1.1" }] });
  });
});

test("metrics count requests, forwards and failures, and time the forwards", async () => {
  await using upstream = await startDnsUpstream(answering("1.1.1.1"));
  await using fixture = await startDnsFixture({ upstreamPort: upstream.port, forwardTimeoutMs: 1_500 });
  await ask("udp", fixture.address, { name: "productpage." });
  await ask("udp", fixture.address, { name: "x.example." });
  upstream.handle = mute;
  await ask("udp", fixture.address, { name: "y.example." });
  const text = fixture.registry.render();
  expect(text).toContain("dns_requests_total 3\n");
  expect(text).toContain("dns_upstream_requests_total 2\n");
  expect(text).toContain("dns_upstream_failures_total 1\n");
  expect(text).toContain("dns_upstream_request_duration_seconds_count 2\n");
  // The one that was answered, however busy the machine is, took less than the limit of the other one.
  expect(text).toMatch(/dns_upstream_request_duration_seconds_bucket\{le="[01](\.\d+)?"\} 1\n/);
});

describe("resolv.conf", () => {
  test("is read again when it changes: servers and search domain", async () => {
    await using pair = await startPair(answering("1.1.1.1"), answering("2.2.2.2"));
    await using fixture = await startDnsFixture({ ...pair.options, resolvConf: "nameserver 127.0.0.2\n" });
    expect(await ask("udp", fixture.address, { name: "x.example." })).toMatchObject({ answers: [{ text: "1.1.1.1" }] });
    await writeFile(fixture.resolvConfPath, `nameserver 127.0.0.3\n${SEARCH}\n`);
    await until(async () => {
      expect(await ask("udp", fixture.address, { name: "x.example." })).toMatchObject({
        answers: [{ text: "2.2.2.2" }],
      });
    });
    const expanded = await ask("udp", fixture.address, { name: "www.google.com.ns1.svc.cluster.local." });
    expect(expanded.answers.map(({ text }) => text)).toEqual(["www.google.com.", "1.1.1.1"]);
  });

  test("that becomes unreadable leaves the last servers in use", async () => {
    await using upstream = await startDnsUpstream(answering("1.1.1.1"));
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port });
    await rename(fixture.resolvConfPath, `${fixture.resolvConfPath}.away`);
    await until(() => expect(fixture.log.lines.at(-1)?.message).toMatch(/^failed to load .*no such file/));
    expect(await ask("udp", fixture.address, { name: "x.example." })).toMatchObject({ answers: [{ text: "1.1.1.1" }] });
  });
});

describe("a nameserver that is this proxy", () => {
  /** A server whose own port is also that of its nameservers. */
  const startFacingItself = async (host: string, nameserver: string) => {
    const port = await freePort("127.0.0.1");
    const resolvConf = `nameserver ${nameserver}\n`;
    return startDnsFixture({ listen: `${host}:${port}`, upstreamPort: port, resolvConf, forwardTimeoutMs: 60_000 });
  };

  test("by address is left out with a warning", async () => {
    await using fixture = await startFacingItself("localhost", "127.0.0.1");
    expect(await ask("udp", fixture.address, { name: "x.example." })).toMatchObject({ rcode: SERVFAIL });
    expect(fixture.log.printed).toContain(
      'warn nameserver is this DNS proxy itself and is left out {"server":"127.0.0.1"}',
    );
  });

  test.each(["udp", "tcp"] as const)(
    "in disguise is noticed when the question comes back over %s",
    async (transport) => {
      await using fixture = await startFacingItself("127.0.0.1", "localhost");
      expect(await ask(transport, fixture.address, { name: "x.example." })).toMatchObject({ rcode: SERVFAIL });
      expect(fixture.log.lines.map(({ message }) => message)).toContain("a nameserver leads back to this DNS proxy");
    },
  );
});
