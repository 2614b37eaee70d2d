import { expect, test } from "vitest";
import { queryBytes } from "../../../test/support/dns/client.ts";
import { encodeMessage } from "../../../test/support/dns/message.ts";
import { answersQuery, isTruncated, rcodeOf } from "./reply-check.ts";

const query = queryBytes({ name: "www.Example.com.", id: 77 });
const question = { name: "www.Example.com.", type: 1, class: 1 };

test.each([
  { what: "the same question", reply: { questions: [question] }, accepted: true },
  {
    what: "the question in other letter case",
    reply: { questions: [{ ...question, name: "WWW.example.COM." }] },
    accepted: true,
  },
  { what: "no question but a refusal", reply: { rcode: 5 }, accepted: true },
  { what: "no question and no error", reply: {}, accepted: false },
  { what: "no question and 'no such name'", reply: { rcode: 3 }, accepted: false },
  { what: "another name", reply: { questions: [{ ...question, name: "evil.Example.com." }] }, accepted: false },
  { what: "a longer name", reply: { questions: [{ ...question, name: "www.Example.com.evil." }] }, accepted: false },
  { what: "another type", reply: { questions: [{ ...question, type: 28 }] }, accepted: false },
  { what: "another class", reply: { questions: [{ ...question, class: 3 }] }, accepted: false },
  { what: "two questions", reply: { questions: [question, question] }, accepted: false },
  { what: "another transaction id", reply: { id: 78, questions: [question] }, accepted: false },
])("a reply with $what is accepted: $accepted", ({ reply, accepted }) => {
  expect(answersQuery(query, encodeMessage({ id: 77, flags: ["qr"], ...reply }))).toBe(accepted);
});

test("a query sent back is not a reply", () => {
  expect(answersQuery(query, query)).toBe(false);
});

test("a reply cut anywhere in its question is not a reply", () => {
  const reply = encodeMessage({ id: 77, flags: ["qr"], questions: [question] });
  for (let size = 0; size < reply.length; size++) expect(answersQuery(query, reply.subarray(0, size))).toBe(false);
});

test("rcode and truncation are read from the header", () => {
  const reply = encodeMessage({ rcode: 3, flags: ["qr", "tc"] });
  expect(rcodeOf(reply)).toBe(3);
  expect(isTruncated(reply)).toBe(true);
  expect(isTruncated(query)).toBe(false);
});
