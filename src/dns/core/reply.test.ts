import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { queryBytes } from "../../../test/support/dns/client.ts";
import { decodeMessage, encodeMessage, optRecord } from "../../../test/support/dns/message.ts";
import { createQueryView, readQuery } from "../../protocol/dns/query.ts";
import { proxyScope } from "./alternate-hosts.ts";
import { decideKnown, NO_DATA, pointerTo } from "./decide.ts";
import { DNS_RULES } from "./generations.ts";
import { lookup } from "./lookup.ts";
import { buildLookupTable } from "./name-table.ts";
import { writeErrorReply, writeLocalReply } from "./reply.ts";

const many = Array.from({ length: 100 }, (_, index) => `10.0.0.${index}`);
const TABLE = buildLookupTable(
  {
    table: {
      "many.ext": { ips: many, registry: "External" },
      "dual.ext": { ips: ["1.1.1.1", "2001:db8::1"], registry: "External" },
    },
  },
  { scope: proxyScope("", ""), ttlSeconds: 30, altHosts: true, wildcards: true },
);
const view = createQueryView();
const out = Buffer.alloc(65_535, 0xee);

function reply(query: Buffer, limit = 512, authoritative = true) {
  expect(readQuery(query, view)).toBe("query");
  const match = lookup(TABLE, view.name, { search: "s.t.", expandsSearchedNames: false });
  const answer = match && decideKnown(match, view.type, DNS_RULES.master, false);
  if (answer === undefined || typeof answer === "string") throw new Error(`${view.name} is not answered here`);
  const length = writeLocalReply(out, { message: query, view }, TABLE, answer, {
    limit,
    authoritative,
    random: undefined,
  });
  return { length, ...decodeMessage(out.subarray(0, length)) };
}

describe("the header of a local reply", () => {
  test("repeats id, RD and CD, sets QR and AA, and nothing else", () => {
    const flags = ["aa", "tc", "rd", "ra", "z", "ad", "cd"] as const;
    const query = encodeMessage({ id: 0xbeef, rcode: 9, flags, questions: [{ name: "dual.ext." }] });
    expect(reply(query)).toMatchObject({ id: 0xbeef, opcode: 0, rcode: 0, flags: ["qr", "aa", "rd", "cd"] });
  });

  test("of a NOTIFY keeps the opcode and neither RD nor CD", () => {
    const query = encodeMessage({ opcode: 4, flags: ["rd", "cd"], questions: [{ name: "dual.ext." }] });
    expect(reply(query)).toMatchObject({ opcode: 4, flags: ["qr", "aa"] });
  });

  test("has no AA in the generation that set none", () => {
    expect(reply(queryBytes({ name: "dual.ext." }), 512, false).flags).toEqual(["qr", "rd"]);
  });
});

describe("the sections of a local reply", () => {
  test("the question comes back letter by letter", () => {
    const { questions, answers } = reply(queryBytes({ name: "DuAl.eXt." }));
    expect(questions).toEqual([{ name: "DuAl.eXt.", type: 1, class: 1 }]);
    expect(answers.map(({ name, ttl, text }) => ({ name, ttl, text }))).toEqual([
      { name: "DuAl.eXt.", ttl: 30, text: "1.1.1.1" },
    ]);
  });

  test("an alias comes first and owns nothing but itself", () => {
    const { answers } = reply(queryBytes({ name: "dual.ext.s.t.", type: 255 }));
    expect(answers.map(({ name, type, text }) => `${name} ${type} ${text}`)).toEqual([
      "dual.ext.s.t. 5 dual.ext.",
      "dual.ext. 1 1.1.1.1",
      "dual.ext. 28 20010db8000000000000000000000001",
    ]);
  });

  test("a client with EDNS gets an OPT record, with its DNSSEC bit", () => {
    expect(reply(queryBytes({ name: "dual.ext.", edns: 4096 })).additionals).toMatchObject([
      { name: ".", type: 41, class: 1232, ttl: 0 },
    ]);
    const query = encodeMessage({
      questions: [{ name: "dual.ext." }],
      additionals: [optRecord(1232, 0x8000, Buffer.alloc(8))],
    });
    expect(reply(query).additionals).toMatchObject([{ type: 41, ttl: 0x8000 }]);
  });

  test("a client without EDNS gets none", () => {
    expect(reply(queryBytes({ name: "dual.ext." })).additionals).toEqual([]);
  });

  test("a question that was cut is echoed with zeros", () => {
    const query = queryBytes({ name: "dual.ext." }).subarray(0, -2);
    readQuery(query, view);
    const length = writeErrorReply(out, { message: query, view }, 2);
    expect(decodeMessage(out.subarray(0, length)).questions).toEqual([{ name: "dual.ext.", type: 1, class: 0 }]);
  });
});

describe("a reply that does not fit", () => {
  test.each([
    { limit: 512, edns: undefined, records: 30, bytes: 506 },
    { limit: 512, edns: 512, records: 29, bytes: 501 },
    { limit: 1232, edns: 1232, records: 74, bytes: 1221 },
    { limit: 4096, edns: 4096, records: 100, bytes: 1637 },
    { limit: 65_535, edns: undefined, records: 100, bytes: 1626 },
  ])("in $limit bytes (EDNS $edns) keeps $records of 100 records", ({ limit, edns, records, bytes }) => {
    const { answers, flags, length } = reply(queryBytes({ name: "many.ext.", ...(edns && { edns }) }), limit);
    expect(answers).toHaveLength(records);
    expect(length).toBe(bytes);
    expect(flags.includes("tc")).toBe(records < 100);
  });

  test("drops the second family before the first", () => {
    const query = queryBytes({ name: "dual.ext.", type: 255 });
    expect(reply(query, query.length + 20)).toMatchObject({
      answers: [{ text: "1.1.1.1" }],
      flags: ["qr", "aa", "tc", "rd"],
    });
  });

  test("drops an alias whole", () => {
    const query = queryBytes({ name: "dual.ext.s.t." });
    expect(reply(query, query.length + 10)).toMatchObject({ answers: [], flags: ["qr", "aa", "tc", "rd"] });
  });
});

test("a pointer names its host, and a name that cannot be written is not data", () => {
  const query = queryBytes({ name: "4.3.2.1.in-addr.arpa.", type: 12 });
  readQuery(query, view);
  const write = (target: string) => {
    const options = { limit: 512, authoritative: true, random: undefined };
    return decodeMessage(
      out.subarray(0, writeLocalReply(out, { message: query, view }, TABLE, pointerTo(target), options)),
    );
  };
  expect(write("a.example.").answers).toMatchObject([{ name: "4.3.2.1.in-addr.arpa.", type: 12, text: "a.example." }]);
  expect(write(`${"a".repeat(64)}.`)).toMatchObject({ answers: [], flags: ["qr", "aa", "rd"] });
});

test("an error about a packet whose question was not read is a bare header", () => {
  const query = encodeMessage({ id: 3, opcode: 5, flags: ["rd", "cd", "z"], questions: [{ name: "a." }] });
  readQuery(query, view);
  const length = writeErrorReply(out, { message: query, view }, 4);
  expect(length).toBe(12);
  expect(decodeMessage(out.subarray(0, length))).toMatchObject({
    id: 3,
    opcode: 5,
    rcode: 4,
    flags: ["qr", "rd", "cd"],
    questions: [],
  });
});

test("every limit gives a readable reply within it", () => {
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 2_000 }), fc.boolean(), (limit, edns) => {
      const { length, answers, flags } = reply(
        queryBytes({ name: "many.ext.s.t.", ...(edns && { edns: 1232 }) }),
        limit,
      );
      expect(length).toBeLessThanOrEqual(limit);
      expect(flags.includes("tc")).toBe(answers.length < 101);
    }),
  );
});

test("no data is an empty answer", () => {
  const query = queryBytes({ name: "x." });
  readQuery(query, view);
  const length = writeLocalReply(out, { message: query, view }, TABLE, NO_DATA, {
    limit: 512,
    authoritative: true,
    random: undefined,
  });
  expect(decodeMessage(out.subarray(0, length))).toMatchObject({ rcode: 0, answers: [], questions: [{ name: "x." }] });
});
