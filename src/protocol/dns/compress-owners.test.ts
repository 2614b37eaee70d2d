import { describe, expect, test } from "vitest";
import { aRecord, decodeMessage, encodeMessage, encodeName, optRecord } from "../../../test/support/dns/message.ts";
import { readSections } from "./sections.ts";
import { compressOwners } from "./truncate.ts";

const compressed = (message: Buffer): Buffer => {
  const sections = readSections(message);
  if (sections === undefined) throw new Error("not a message");
  return compressOwners(message, sections);
};
const questions = [{ name: "www.example.com." }];
const alias = { name: "www.example.com.", type: 5, data: encodeName("real.example.com.") };
const soa = {
  name: "example.com.",
  type: 6,
  data: Buffer.concat([encodeName("ns.example.com."), encodeName("who.example.com."), Buffer.alloc(20)]),
};

describe("an uncompressed message", () => {
  test("says the same in fewer bytes, its OPT record last", () => {
    const message = {
      questions,
      answers: [alias, aRecord("real.example.com.", "1.1.1.1"), aRecord("real.example.com.", "2.2.2.2")],
      authorities: [soa, soa],
      additionals: [optRecord(1232), aRecord("www.example.com.", "3.3.3.3")],
    };
    const bytes = encodeMessage(message);
    const short = compressed(bytes);
    // Three repeated owners and the one that repeats the question.
    expect(short.length).toBe(bytes.length - (15 + 16 + 11 + 15));
    const [before, after] = [decodeMessage(bytes), decodeMessage(short)];
    expect(after.answers).toEqual(before.answers);
    expect(after.authorities).toEqual(before.authorities);
    expect(after.additionals).toEqual(before.additionals.toReversed());
  });

  test("leaves the root alone, which is shorter than a pointer", () => {
    const bytes = encodeMessage({ questions: [{ name: "." }], answers: [aRecord(".", "1.1.1.1")] });
    expect(compressed(bytes)).toEqual(bytes);
  });
});

describe("a message with pointers stays as it is", () => {
  test.each([
    { what: "in an owner", bytes: encodeMessage({ questions, answers: [alias, aRecord("x.", "1.1.1.1")] }, true) },
    {
      what: "in the data of a CNAME record",
      bytes: encodeMessage({
        questions,
        answers: [{ ...alias, name: "a.", data: Buffer.of(0xc0, 12) }, aRecord("www.example.com.", "1.1.1.1")],
      }),
    },
    {
      what: "in the second name of an SOA record",
      bytes: encodeMessage({
        questions,
        authorities: [{ ...soa, data: Buffer.concat([Buffer.of(0, 1, 97, 0xc0, 12), Buffer.alloc(20)]) }],
      }),
    },
    {
      what: "in the data of an MX record",
      bytes: encodeMessage({
        questions,
        answers: [{ name: "www.example.com.", type: 15, data: Buffer.of(0, 10, 0xc0, 12) }],
      }),
    },
  ])("$what", ({ bytes }) => {
    expect(compressed(bytes)).toBe(bytes);
  });
});
