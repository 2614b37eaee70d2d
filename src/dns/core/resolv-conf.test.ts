import fc from "fast-check";
import { expect, test } from "vitest";
import { parseResolvConf } from "./resolv-conf.ts";

test.each([
  { what: "an empty file", text: "", nameservers: [], search: [] },
  {
    what: "the usual pod",
    text: "search a.b c.d\nnameserver 10.0.0.10\noptions ndots:5\n",
    nameservers: ["10.0.0.10"],
    search: ["a.b", "c.d"],
  },
  {
    what: "four servers, one twice, one by name",
    text: "nameserver 1.1.1.1\nnameserver ::1\nnameserver 1.1.1.1\nnameserver dns.local",
    nameservers: ["1.1.1.1", "::1", "1.1.1.1", "dns.local"],
    search: [],
  },
  { what: "a server followed by a comment", text: "nameserver 1.1.1.1 # ours", nameservers: ["1.1.1.1"], search: [] },
  { what: "a keyword without value", text: "nameserver\n", nameservers: [], search: [] },
  { what: "a domain", text: "domain a.b c.d", nameservers: [], search: ["a.b"] },
  { what: "a domain without value after a search", text: "search a\ndomain", nameservers: [], search: [] },
  { what: "a search after a domain", text: "domain a\nsearch b c", nameservers: [], search: ["b", "c"] },
  { what: "comments and others", text: "# nameserver 1\n;nameserver 2\nsortlist 3\n", nameservers: [], search: [] },
  {
    what: "tabs, indentation and CRLF",
    text: "\tnameserver\t1.1.1.1\r\n  search\ta\r\n",
    nameservers: ["1.1.1.1"],
    search: ["a"],
  },
])("$what", ({ text, nameservers, search }) => {
  expect(parseResolvConf(text)).toEqual({ nameservers, search });
});

test("any text is read without complaint", () => {
  fc.assert(
    fc.property(
      fc.string({ maxLength: 60 }),
      fc.constantFrom("nameserver ", "search ", "domain ", ""),
      (rest, keyword) => {
        const text = `${keyword}${rest}\n${rest}`;
        expect(Array.isArray(parseResolvConf(text).nameservers)).toBe(true);
      },
    ),
  );
});
