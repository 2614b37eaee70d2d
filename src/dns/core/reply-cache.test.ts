import { describe, expect, test } from "vitest";
import { ReplyCache } from "./reply-cache.ts";

const query = (id: number, text: string) => Buffer.concat([Buffer.from([id >> 8, id & 255]), Buffer.from(text)]);
const reply = (text: string) => Buffer.from(`..${text}`);

function ask(cache: ReplyCache, bytes: Buffer): string | undefined {
  const out = Buffer.alloc(512);
  const length = cache.copy(bytes, out);
  if (length === 0) return undefined;
  expect(out.subarray(0, 2)).toEqual(bytes.subarray(0, 2));
  return out.toString("latin1", 2, length);
}

function remember(cache: ReplyCache, question: string, answer: string): void {
  cache.remember(query(1, question), reply(answer), reply(answer).length);
}

describe("a query that was answered before", () => {
  test("gets the same reply under its own id", () => {
    const cache = new ReplyCache();
    expect(ask(cache, query(1, "a question"))).toBeUndefined();
    remember(cache, "a question", "an answer");
    expect(ask(cache, query(1, "a question"))).toBe("an answer");
    expect(ask(cache, query(0xabcd, "a question"))).toBe("an answer");
  });

  test.each(["a questioN", "a question ", "a questio", ""])("is not %j", (other) => {
    const cache = new ReplyCache();
    remember(cache, "a question", "an answer");
    expect(ask(cache, query(1, other))).toBeUndefined();
  });

  test("is forgotten when what it was made from changed", () => {
    const cache = new ReplyCache();
    remember(cache, "a question", "an answer");
    cache.clear();
    expect(ask(cache, query(1, "a question"))).toBeUndefined();
  });
});

test("of more queries than there is room for, each gets its own reply or none", () => {
  const cache = new ReplyCache();
  const names = Array.from({ length: 20_000 }, (_, index) => `svc${index}.ns.svc.cluster.local`);
  for (const name of names) remember(cache, name, `reply to ${name}`);
  const found = names.filter((name) => {
    const text = ask(cache, query(7, name));
    if (text !== undefined) expect(text).toBe(`reply to ${name}`);
    return text !== undefined;
  });
  // Nearly all slots are in use: the hash spreads names that differ in a few digits.
  expect(found.length).toBeGreaterThan(3_500);
});

test.each([
  { what: "a long query", question: "q".repeat(95), answer: "short" },
  { what: "a long reply", question: "short", answer: "a".repeat(159) },
])("$what is not remembered", ({ question, answer }) => {
  const cache = new ReplyCache();
  remember(cache, question, answer);
  expect(ask(cache, query(1, question))).toBeUndefined();
});
