import { execFile } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import type { Socket } from "node:net";
import { promisify } from "node:util";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { ask, connectTcp, exchangeTcp, exchangeUdp, framed, queryBytes, readFrames } from "../support/dns/client.ts";
import { startDnsFixture } from "../support/dns/fixture.ts";
import { aRecord, decodeMessage, encodeMessage } from "../support/dns/message.ts";
import { replyTo, startDnsUpstream } from "../support/dns/upstream.ts";
import { needs } from "../support/needs.ts";
import { until } from "../support/wait/until.ts";

const SERVFAIL = 2;
const hit = { name: "productpage." };

describe("bad packets", () => {
  test("get an answer, an error or silence, and the server goes on", async () => {
    await using upstream = await startDnsUpstream((query) => replyTo(query, { rcode: 3 }));
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port, forwardTimeoutMs: 200 });
    const socket = createSocket("udp4");
    socket.connect(fixture.address.port, fixture.address.host);
    await once(socket, "connect");
    const replies: Buffer[] = [];
    socket.on("message", (reply) => replies.push(reply));
    const good = queryBytes({ name: "www.google.com.", edns: 1232 });
    const cut = fc.nat(good.length).map((size) => good.subarray(0, size));
    const flipped = fc.tuple(fc.nat(good.length - 1), fc.nat(255)).map(([at, value]) => {
      const copy = Buffer.from(good);
      copy[at] = value;
      return copy;
    });
    const random = fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes));
    const packets = fc.sample(fc.oneof(cut, flipped, random), { numRuns: 1_500, seed: 7 });
    for (const [index, packet] of packets.entries()) {
      socket.send(packet);
      // Lets the server keep up, so that the kernel drops nothing.
      if (index % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await ask("udp", fixture.address, hit)).toMatchObject({ answers: [{ text: "9.9.9.9" }] });
    expect(await ask("tcp", fixture.address, hit)).toMatchObject({ answers: [{ text: "9.9.9.9" }] });
    socket.close();
    expect(replies.length).toBeGreaterThan(100);
    for (const reply of replies) {
      expect(decodeMessage(reply).flags).toContain("qr");
      expect([0, 1, 2, 3, 4, 5]).toContain(reply.readUInt8(3) & 0xf);
    }
  });

  test.each([
    { what: "fewer than 12 bytes", bytes: Buffer.alloc(11) },
    { what: "a reply", bytes: encodeMessage({ flags: ["qr"], questions: [{ name: "a." }] }) },
  ])("$what: no reply over UDP, and over TCP the connection goes on", async ({ bytes }) => {
    await using fixture = await startDnsFixture();
    await expect(exchangeUdp(fixture.address, bytes, 100)).rejects.toThrow();
    const socket = await connectTcp(fixture.address);
    socket.write(Buffer.concat([framed(Buffer.alloc(0)), framed(bytes), framed(queryBytes(hit))]));
    const [reply = Buffer.alloc(0)] = await readFrames(socket, 1);
    expect(decodeMessage(reply)).toMatchObject({ answers: [{ text: "9.9.9.9" }] });
    socket.destroy();
  });

  test.each([
    {
      what: "a compression loop in the question",
      bytes: Buffer.from("000701000001000000000000c00c00010001", "hex"),
      rcode: 1,
      questions: 0,
    },
    {
      what: "a compression loop behind it",
      bytes: Buffer.concat([
        queryBytes(hit).subarray(0, 10),
        Buffer.of(0, 1),
        queryBytes(hit).subarray(12),
        Buffer.from("c01d00010001000000000000", "hex"),
      ]),
      rcode: 1,
      questions: 1,
    },
    { what: "opcode 5", bytes: encodeMessage({ opcode: 5, questions: [{ name: "a." }] }), rcode: 4, questions: 0 },
    {
      what: "two questions",
      bytes: encodeMessage({ questions: [{ name: "a." }, { name: "b." }] }),
      rcode: 1,
      questions: 0,
    },
    { what: "a header alone", bytes: Buffer.from("000701000001000000000000", "hex"), rcode: 5, questions: 0 },
  ])("$what: rcode $rcode with $questions questions", async ({ bytes, rcode, questions }) => {
    await using fixture = await startDnsFixture();
    for (const exchange of [exchangeUdp, exchangeTcp]) {
      const reply = decodeMessage(await exchange(fixture.address, bytes));
      expect(reply).toMatchObject({ rcode, answers: [], additionals: [] });
      expect(reply.questions).toHaveLength(questions);
      expect(reply.flags).not.toContain("aa");
    }
  });
});

describe("a forged packet from port 0", () => {
  beforeEach(needs("root", "python3"));

  test("is ignored, as no one can be answered there", async () => {
    await using fixture = await startDnsFixture();
    const { port } = fixture.address;
    const script = `
import socket, struct, sys
query = bytes.fromhex(sys.argv[1])
udp = struct.pack("!HHHH", 0, ${port}, 8 + len(query), 0) + query
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
raw.sendto(udp, ("127.0.0.1", 0))
`;
    await promisify(execFile)("python3", ["-c", script, queryBytes(hit).toString("hex")]);
    await promisify(execFile)("python3", ["-c", script, queryBytes({ name: "x.example." }).toString("hex")]);
    expect(await ask("udp", fixture.address, hit)).toMatchObject({ answers: [{ text: "9.9.9.9" }] });
    expect(fixture.registry.render()).toContain("dns_requests_total 1\n");
  });
});

test("10,000 forwards at a time to a dead upstream all fail in time, while known names are answered", async () => {
  await using upstream = await startDnsUpstream(() => undefined);
  await using fixture = await startDnsFixture({ upstreamPort: upstream.port, forwardTimeoutMs: 3_000 });
  const client = createSocket({ type: "udp4", recvBufferSize: 1 << 20 });
  client.connect(fixture.address.port, fixture.address.host);
  await once(client, "connect");
  const outcomes = new Map<number, number>();
  client.on("message", (reply) => outcomes.set(reply.readUInt16BE(0), reply.readUInt8(3) & 0xf));
  const total = 10_000;
  for (let id = 0; id < total; id++) {
    client.send(queryBytes({ name: `${id}.example.`, id }));
    if (id % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await until(() => expect(fixture.registry.render()).toContain(`dns_upstream_requests_total ${total}`));
  expect(await ask("udp", fixture.address, hit)).toMatchObject({ answers: [{ text: "9.9.9.9" }] });
  expect(fixture.registry.render()).not.toContain(`dns_upstream_failures_total ${total}`);
  // Their failures arrive together; what the client's own buffer could not hold is no fault of the server.
  await until(() => expect(fixture.registry.render()).toContain(`dns_upstream_failures_total ${total}`));
  await until(() => expect(outcomes.size).toBeGreaterThan(total / 10));
  expect(new Set(outcomes.values())).toEqual(new Set([SERVFAIL]));
  upstream.handle = (query) => replyTo(query, { answers: [aRecord("late.example.", "1.1.1.1")] });
  expect(await ask("udp", fixture.address, { name: "late.example." })).toMatchObject({
    answers: [{ text: "1.1.1.1" }],
  });
  client.close();
});

/** However the other side closes: a reset is as good as an end. */
function closed(socket: Socket): Promise<void> {
  socket.on("error", () => undefined);
  socket.resume();
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once("close", () => resolve());
  });
}

describe("TCP clients", () => {
  test("that send a byte now and then are closed when the query is not complete in time", async () => {
    await using fixture = await startDnsFixture({ limits: { tcpFirstMs: 300 } });
    const began = performance.now();
    const socket = await connectTcp(fixture.address);
    const bytes = framed(queryBytes(hit));
    let at = 0;
    const dripping = setInterval(() => socket.write(bytes.subarray(at, ++at)), 40);
    await closed(socket);
    clearInterval(dripping);
    // Not before the time; a machine that stands still only adds to it.
    expect(performance.now() - began).toBeGreaterThan(250);
  });

  test("that stay silent after a query are closed after the idle time", async () => {
    await using fixture = await startDnsFixture({ limits: { tcpFirstMs: 700, tcpIdleMs: 1_500 } });
    const began = performance.now();
    const socket = await connectTcp(fixture.address);
    socket.write(framed(queryBytes(hit)));
    await readFrames(socket, 1);
    await closed(socket);
    // Longer than an unfinished first query may take; a machine that stands still only adds to it.
    expect(performance.now() - began).toBeGreaterThan(1_200);
  });

  test("1,000 idle ones take nothing from others and are all closed", async () => {
    await using fixture = await startDnsFixture({ limits: { tcpFirstMs: 1_500 } });
    const idle: Socket[] = [];
    for (let batch = 0; batch < 10; batch++) {
      idle.push(...(await Promise.all(Array.from({ length: 100 }, () => connectTcp(fixture.address)))));
    }
    expect(await ask("udp", fixture.address, hit)).toMatchObject({ answers: [{ text: "9.9.9.9" }] });
    expect(await ask("tcp", fixture.address, hit)).toMatchObject({ answers: [{ text: "9.9.9.9" }] });
    await Promise.all(idle.map(closed));
  });

  test("over the limit cost the longest idle one its connection", async () => {
    await using fixture = await startDnsFixture({ limits: { maxTcpConnections: 2 } });
    const [first, second] = [await connectTcp(fixture.address), await connectTcp(fixture.address)];
    // The first one was used last.
    first.write(framed(queryBytes(hit)));
    await readFrames(first, 1);
    const third = await connectTcp(fixture.address);
    await closed(second);
    for (const socket of [first, third]) {
      socket.write(framed(queryBytes(hit)));
      expect(await readFrames(socket, 1)).toHaveLength(1);
      socket.destroy();
    }
  });

  test("may pipeline: a slow question does not hold the others up", async () => {
    await using upstream = await startDnsUpstream(() => undefined);
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port, forwardTimeoutMs: 300 });
    const socket = await connectTcp(fixture.address);
    const queries = [
      queryBytes({ name: "slow.example.", id: 1 }),
      ...[2, 3, 4].map((id) => queryBytes({ ...hit, id })),
    ];
    socket.write(Buffer.concat(queries.map(framed)));
    const replies = (await readFrames(socket, 4)).map(decodeMessage);
    expect(replies.map(({ id, rcode }) => [id, rcode])).toEqual([
      [2, 0],
      [3, 0],
      [4, 0],
      [1, SERVFAIL],
    ]);
    socket.destroy();
  });

  test("with more slow questions than are answered at a time get all of them", async () => {
    await using upstream = await startDnsUpstream((query) => replyTo(query, { rcode: 3 }));
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port, limits: { maxTcpPipelined: 2 } });
    const socket = await connectTcp(fixture.address);
    socket.write(
      Buffer.concat(Array.from({ length: 30 }, (_, id) => framed(queryBytes({ name: `${id}.example.`, id })))),
    );
    const ids = (await readFrames(socket, 30)).map((reply) => reply.readUInt16BE(0));
    expect(ids.toSorted((left, right) => left - right)).toEqual(Array.from({ length: 30 }, (_, id) => id));
    socket.destroy();
  });

  test("that close their half still get their answers", async () => {
    await using upstream = await startDnsUpstream((query) => replyTo(query, { rcode: 3 }));
    await using fixture = await startDnsFixture({ upstreamPort: upstream.port });
    const socket = await connectTcp(fixture.address);
    socket.end(framed(queryBytes({ name: "x.example." })));
    const [reply = Buffer.alloc(0)] = await readFrames(socket, 1);
    expect(decodeMessage(reply).rcode).toBe(3);
    await closed(socket);
  });

  test("get 128 answers per connection and are then closed", async () => {
    await using fixture = await startDnsFixture();
    const socket = await connectTcp(fixture.address);
    socket.write(Buffer.concat(Array.from({ length: 130 }, (_, id) => framed(queryBytes({ ...hit, id })))));
    expect(await readFrames(socket, 128)).toHaveLength(128);
    await closed(socket);
  });

  test("that do not read do not make the server hold their answers", async () => {
    const ips = Array.from({ length: 2_000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
    const table = { table: { "many.example": { ips, registry: "External" } } };
    await using fixture = await startDnsFixture({ table, limits: { maxTcpQueries: 100_000, tcpIdleMs: 500 } });
    const socket = await connectTcp(fixture.address);
    socket.pause();
    const query = framed(queryBytes({ name: "many.example." }));
    const before = process.memoryUsage().arrayBuffers;
    socket.write(Buffer.concat(Array.from({ length: 5_000 }, () => query)));
    await until(() => expect(fixture.registry.render()).toMatch(/dns_requests_total \d{2,}/));
    // 5,000 answers of 32 kB would be 160 MB.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(40_000_000);
    socket.on("error", () => undefined);
    socket.destroy();
  });
});

test("a table replaced 100 times a second under load gives answers of a table in force while asked", async () => {
  await using fixture = await startDnsFixture();
  const hosts = Array.from({ length: 200 }, (_, index) => `svc${index}.ns1.svc.cluster.local`);
  let version = 0;
  const replace = () => {
    version++;
    const ips = [`10.0.${version >> 8}.${version & 255}`];
    const entry = (host: string) => ({
      ips,
      registry: "Kubernetes",
      shortname: host.split(".")[0] ?? "",
      namespace: "ns1",
    });
    fixture.server.updateNameTable({ table: Object.fromEntries(hosts.map((host) => [host, entry(host)])) });
  };
  replace();
  const replacing = setInterval(replace, 10);
  let answered = 0;
  const client = async (first: number) => {
    for (let index = first; answered < 1_000 || version < 50; index++) {
      const earliest = version;
      const { answers, rcode } = await ask("udp", fixture.address, { name: `svc${index % 200}.ns1.` });
      const [, , high = 0, low = 0] = (answers[0]?.text ?? "").split(".").map(Number);
      const seen = (high << 8) | low;
      expect([rcode, answers.length]).toEqual([0, 1]);
      expect(seen).toBeGreaterThanOrEqual(earliest);
      expect(seen).toBeLessThanOrEqual(version);
      answered++;
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, index) => client(index * 25)));
  clearInterval(replacing);
});
