import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aRecord, decodeMessage, encodeMessage, optRecord } from "../../../test/support/dns/message.ts";
import { truncateMessage } from "./truncate.ts";

const records = (count: number) => Array.from({ length: count }, (_, index) => aRecord("many.ext.", `10.0.0.${index}`));
const questions = [{ name: "many.ext." }];

describe("a message over the limit", () => {
  test("keeps as many answers as fit, with TC", () => {
    const cut = truncateMessage(encodeMessage({ questions, answers: records(100) }, true), 512);
    const { answers, flags } = decodeMessage(cut ?? Buffer.alloc(0));
    expect(cut?.length).toBe(506);
    expect(answers).toHaveLength(30);
    expect(flags).toEqual(["tc"]);
  });

  test("is compressed first, which may be enough", () => {
    const whole = encodeMessage({ questions, answers: records(30) });
    const { answers, flags } = decodeMessage(truncateMessage(whole, 512) ?? Buffer.alloc(0));
    expect(whole.length).toBeGreaterThan(512);
    expect(answers.map(({ name }) => name)).toEqual(Array.from({ length: 30 }, () => "many.ext."));
    expect(flags).toEqual([]);
  });

  test("keeps its OPT record and reserves room for it", () => {
    const whole = encodeMessage(
      { questions, answers: records(100), additionals: [optRecord(1232, 0, Buffer.alloc(9))] },
      true,
    );
    const { answers, additionals } = decodeMessage(truncateMessage(whole, 512) ?? Buffer.alloc(0));
    expect(answers).toHaveLength(29);
    expect(additionals).toMatchObject([{ type: 41, class: 1232 }]);
  });

  test("loses additional records first, then authorities", () => {
    const whole = encodeMessage(
      { questions, answers: records(10), authorities: records(10), additionals: records(10) },
      true,
    );
    const { answers, authorities, additionals } = decodeMessage(truncateMessage(whole, 300) ?? Buffer.alloc(0));
    expect([answers.length, authorities.length, additionals.length]).toEqual([10, 7, 0]);
  });

  test("stays whole when it is signed", () => {
    const signature = { name: "key.", type: 250, data: Buffer.alloc(20) };
    const whole = encodeMessage({ questions, answers: records(100), additionals: [signature] }, true);
    expect(truncateMessage(whole, 512)).toBe(whole);
  });

  test.each([
    { what: "a record is cut", bytes: encodeMessage({ questions, answers: records(100) }).subarray(0, 700) },
    { what: "the question is cut", bytes: Buffer.concat([Buffer.of(0, 0, 0, 0, 0, 1), Buffer.alloc(600, 1)]) },
    {
      what: "the question alone is too long",
      bytes: encodeMessage({ questions: [{ name: `${"a".repeat(60)}.` }] }),
      limit: 40,
    },
  ])("is given up when $what", ({ bytes, limit = 512 }) => {
    expect(truncateMessage(bytes, limit)).toBeUndefined();
  });
});

test("a message that fits is returned as it is", () => {
  const message = encodeMessage({ questions, answers: records(3) });
  expect(truncateMessage(message, message.length)).toBe(message);
});

test("regardless of the records and the limit, the result is readable, short enough and a prefix of the answers", () => {
  const limits = fc.integer({ min: 60, max: 900 });
  fc.assert(
    fc.property(
      fc.nat(40),
      fc.nat(5),
      fc.boolean(),
      fc.boolean(),
      limits,
      (answers, additionals, opt, compress, limit) => {
        const extra = [...records(additionals), ...(opt ? [optRecord(4096)] : [])];
        const whole = encodeMessage({ questions, answers: records(answers), additionals: extra }, compress);
        const cut = truncateMessage(whole, limit) ?? Buffer.alloc(0);
        expect(cut.length).toBeLessThanOrEqual(limit);
        const [before, after] = [decodeMessage(whole), decodeMessage(cut)];
        expect(before.answers.slice(0, after.answers.length).map(({ text }) => text)).toEqual(
          after.answers.map(({ text }) => text),
        );
        expect(after.additionals.some(({ type }) => type === 41)).toBe(opt);
        const isComplete = after.answers.length === answers && after.additionals.length === extra.length;
        expect(after.flags.includes("tc")).toBe(!isComplete);
      },
    ),
  );
});

test("random bytes never throw", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(200), (bytes, limit) => {
      truncateMessage(Buffer.from(bytes), limit);
    }),
    { numRuns: 1_000 },
  );
});
