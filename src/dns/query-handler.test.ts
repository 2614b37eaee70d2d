import { describe, expect, test } from "vitest";
import {
  aRecord,
  decodeMessage,
  type EncodedMessage,
  encodeMessage,
  optRecord,
} from "../../test/support/dns/message.ts";
import { recordLog } from "../../test/support/log/recording-log.ts";
import { silentLogger } from "../base/logger.ts";
import { MetricRegistry } from "../base/metric-registry.ts";
import { proxyScope } from "./core/alternate-hosts.ts";
import { DNS_RULES } from "./core/generations.ts";
import { buildLookupTable } from "./core/name-table.ts";
import { declareDnsMetrics } from "./metrics.ts";
import { createQueryHandler, LATER, type QueryHandlerOptions } from "./query-handler.ts";

const [A, NS, PTR, TXT, AAAA, HTTPS] = [1, 2, 12, 16, 28, 65];
const TABLE = {
  table: {
    "web.example": { ips: ["1.2.3.4", "2001:db8::1"], registry: "External" },
    "svc.ns1.svc.cluster.local": { ips: ["10.1.1.1"], registry: "Kubernetes", shortname: "svc", namespace: "ns1" },
    "*.wild.example": { ips: ["9.9.9.9"], registry: "External" },
    "many.example": { ips: Array.from({ length: 100 }, (_, index) => `10.0.0.${index}`), registry: "External" },
  },
};

interface Given extends Partial<QueryHandlerOptions> {
  readonly generation?: keyof typeof DNS_RULES;
  readonly hasTable?: boolean;
}

function setUp({ generation = "master", hasTable = true, ...given }: Given = {}) {
  const forwarded: Buffer[] = [];
  const log = recordLog();
  const handler = createQueryHandler({
    rules: DNS_RULES[generation],
    forwardsOtherTypes: false,
    forwardsBeforeSync: true,
    random: () => 0,
    forwarder: {
      setServers: () => undefined,
      forward: async (message) => {
        forwarded.push(message);
        return undefined;
      },
      stop: async () => undefined,
    },
    isLoop: () => false,
    log,
    metrics: declareDnsMetrics(new MetricRegistry()),
    ...given,
  });
  const scope = proxyScope("ns1", "ns1.svc.cluster.local");
  const tableOptions = { scope, ttlSeconds: 30, altHosts: true, wildcards: true };
  if (hasTable) handler.setTable(buildLookupTable(TABLE, tableOptions));
  const out = Buffer.alloc(65_535);
  return {
    handler,
    forwarded,
    log,
    /** The decoded reply; the number when there is none yet. */
    answer: (message: Buffer, transport: "udp" | "tcp" = "udp") => {
      const length = handler.answer(message, out, transport);
      return length > 0 ? decodeMessage(out.subarray(0, length)) : length;
    },
  };
}

const query = (name: string, type = A, more: Partial<EncodedMessage> = {}) =>
  encodeMessage({ id: 7, flags: ["rd"], questions: [{ name, type, class: 1 }], ...more });
const texts = (message: ReturnType<typeof decodeMessage> | number) =>
  typeof message === "number" ? message : message.answers.map(({ text }) => text);

describe("names of the mesh", () => {
  test.each([
    { name: "web.example.", type: A, answers: ["1.2.3.4"] },
    { name: "WEB.Example.", type: A, answers: ["1.2.3.4"] },
    { name: "web.example.", type: AAAA, answers: ["20010db8000000000000000000000001"] },
    { name: "any.wild.example.", type: A, answers: ["9.9.9.9"] },
    { name: "any.wild.example.", type: AAAA, answers: [] },
    { name: "svc.ns1.svc.cluster.local.", type: TXT, answers: [] },
    { name: "web.example.", type: HTTPS, answers: [] },
  ])("$name $type is answered here with $answers", ({ name, type, answers }) => {
    const { answer, forwarded } = setUp();
    const reply = answer(query(name, type));
    expect(texts(reply)).toEqual(answers);
    expect(reply).toMatchObject({ id: 7, rcode: 0, flags: expect.arrayContaining(["qr", "aa", "rd"]) });
    expect(forwarded).toEqual([]);
  });

  test.each(["web.example.", "any.wild.example.", "svc", "many.example.", "gone.web.example."])(
    "%s asked again gets the same reply under its own id, until the table or the search list changes",
    (name) => {
      const { handler, answer } = setUp({ log: silentLogger });
      const first = answer(query(name));
      for (const id of [8, 9]) {
        const again = answer(query(name, A, { id }));
        expect(again).toEqual(typeof first === "number" ? first : { ...first, id });
      }
      expect(answer(query(name), "tcp")).toEqual(setUp().answer(query(name), "tcp"));
      handler.setTable(
        buildLookupTable(
          { table: {} },
          { scope: proxyScope("ns1", "ns1.svc.cluster.local"), ttlSeconds: 30, altHosts: true, wildcards: true },
        ),
      );
      expect(answer(query(name))).toBe(LATER);
    },
  );

  test("several addresses are in another order each time", () => {
    let calls = 0;
    const { answer } = setUp({ log: silentLogger, random: () => (calls++ * 7919) & 0xffff });
    const orders = Array.from({ length: 5 }, () =>
      String(texts(answer(query("many.example.", A, { additionals: [optRecord(4096)] })))),
    );
    expect(new Set(orders).size).toBe(5);
  });

  test("an address leads back to its name", () => {
    const { answer } = setUp();
    expect(texts(answer(query("4.3.2.1.in-addr.arpa.", PTR)))).toEqual(["web.example."]);
  });

  test("a newer table counts at once, also for addresses", () => {
    const { handler, answer } = setUp();
    answer(query("4.3.2.1.in-addr.arpa.", PTR));
    const scope = proxyScope("ns1", "ns1.svc.cluster.local");
    const next = { table: { "other.example": { ips: ["1.2.3.4"], registry: "External" } } };
    handler.setTable(buildLookupTable(next, { scope, ttlSeconds: 30, altHosts: true, wildcards: true }));
    expect(texts(answer(query("4.3.2.1.in-addr.arpa.", PTR)))).toEqual(["other.example."]);
    expect(answer(query("web.example."))).toBe(LATER);
  });

  test("more addresses than a datagram holds are cut over UDP and whole over TCP", () => {
    const { answer } = setUp();
    const overUdp = answer(query("many.example."));
    expect(overUdp).toMatchObject({ flags: expect.arrayContaining(["tc"]) });
    const large = answer(query("many.example.", A, { additionals: [optRecord(4096)] }));
    expect(texts(large)).toHaveLength(100);
    expect(texts(answer(query("many.example."), "tcp"))).toHaveLength(100);
  });
});

describe("what has to be asked upstream", () => {
  test.each([
    { name: "a name no one knows", message: query("elsewhere.example.") },
    { name: "an address no one has", message: query("1.1.1.1.in-addr.arpa.", PTR) },
    { name: "a pointer that is not an address", message: query("x.in-addr.arpa.", PTR) },
    {
      name: "another class",
      message: query("web.example.", A, { questions: [{ name: "web.example.", type: A, class: 3 }] }),
    },
  ])("$name", ({ message }) => {
    expect(setUp().answer(message)).toBe(LATER);
  });

  test("other types of known names, where that is chosen", () => {
    const { answer } = setUp({ forwardsOtherTypes: true });
    expect(answer(query("web.example.", TXT))).toBe(LATER);
    expect(answer(query("4.3.2.1.in-addr.arpa.", PTR))).toBe(LATER);
    expect(texts(answer(query("web.example.", A)))).toEqual(["1.2.3.4"]);
  });

  test("everything before the first table, or nothing, as is chosen", () => {
    expect(setUp({ hasTable: false }).answer(query("web.example."))).toBe(LATER);
    const refusing = setUp({ hasTable: false, forwardsBeforeSync: false });
    expect(refusing.answer(query("web.example."))).toMatchObject({ rcode: 2, answers: [] });
  });
});

describe("what is not a question for us", () => {
  test.each([
    { name: "half a header", message: Buffer.from([1, 2, 3]), is: 0 },
    { name: "a reply", message: query("web.example.", A, { flags: ["qr"] }), is: 0 },
    {
      name: "two questions",
      message: query("a.", A, { questions: [{ name: "a." }, { name: "b." }] }),
      is: { rcode: 1 },
    },
    { name: "an update", message: query("web.example.", A, { opcode: 5 }), is: { rcode: 4, opcode: 5 } },
    {
      name: "an update that wants recursion and no checking",
      message: query("web.example.", A, { opcode: 5, flags: ["rd", "cd"] }),
      is: { rcode: 4, flags: ["qr", "rd", "cd"] },
    },
  ])("$name gets $is", ({ message, is }) => {
    const reply = setUp().answer(message);
    if (typeof is === "number") expect(reply).toBe(is);
    else expect(reply).toMatchObject(is);
  });
});

describe("a forwarded question", () => {
  const forwarder = (reply: Buffer | undefined) => ({
    setServers: () => undefined,
    forward: async () => reply,
    stop: async () => undefined,
  });
  const upstream = (rcode: number, count = 1) =>
    encodeMessage({
      id: 999,
      rcode,
      flags: ["qr", "ra"],
      questions: [{ name: "x.example.", type: NS, class: 1 }],
      answers: Array.from({ length: count }, () => aRecord("x.example.", "5.5.5.5")),
    });
  const ask = async (given: Given, message = query("x.example."), transport: "udp" | "tcp" = "udp") => {
    const { handler, answer, log } = setUp(given);
    expect(answer(message, transport)).toBe(LATER);
    return { reply: decodeMessage(await handler.answerLater(message, transport, 4000)), log };
  };

  test("gets upstream's reply under its own number", async () => {
    const { reply } = await ask({ forwarder: forwarder(upstream(0)) });
    expect(reply).toMatchObject({ id: 7, rcode: 0 });
    expect(texts(reply)).toEqual(["5.5.5.5"]);
  });

  test("leaves the reply as it was for others who asked the same", async () => {
    const shared = upstream(0);
    const before = Buffer.from(shared);
    await ask({ forwarder: forwarder(shared) });
    expect(shared.equals(before)).toBe(true);
  });

  test("that no one answered fails with the question in it", async () => {
    const { reply } = await ask({ forwarder: forwarder(undefined) });
    expect(reply).toMatchObject({ id: 7, rcode: 2, questions: [{ name: "x.example." }], answers: [] });
  });

  test("whose reply is too long for the client is cut, and whole over TCP", async () => {
    const long = forwarder(upstream(0, 60));
    expect((await ask({ forwarder: long })).reply).toMatchObject({ flags: expect.arrayContaining(["tc"]) });
    expect((await ask({ forwarder: long }, query("x.example."), "tcp")).reply.answers).toHaveLength(60);
  });

  test("of another type for a known name exists, regardless of what upstream says", async () => {
    const given = { forwarder: forwarder(upstream(3, 0)) };
    expect((await ask(given, query("web.example.", TXT))).reply.rcode).toBe(0);
    expect((await ask(given, query("unknown.example.", TXT))).reply.rcode).toBe(3);
    // Whoever forwards all other types takes what comes.
    expect((await ask({ ...given, forwardsOtherTypes: true }, query("web.example.", TXT))).reply.rcode).toBe(3);
  });

  test("that comes from ourselves is not asked again, and reported once in a while", async () => {
    const { handler, answer, log, forwarded } = setUp({ isLoop: () => true });
    for (let time = 0; time < 3; time += 1) {
      answer(query("x.example."));
      expect(decodeMessage(await handler.answerLater(query("x.example."), "udp", 4000)).rcode).toBe(2);
    }
    expect(forwarded).toEqual([]);
    expect(log.lines.filter(({ level }) => level === "warn")).toHaveLength(1);
  });
});
