import { expect, test } from "vitest";
import { parseAccount, parseJwtRule, parseListen } from "./ca.ts";

test("an account is a namespace and a name", () => {
  expect(parseAccount("default/web")).toEqual({ namespace: "default", name: "web" });
});

test.each(["", "web", "/web", "default/", "a/b/c", "a:b/c", "a b/c"])("%j is not an account", (text) => {
  expect(() => parseAccount(text)).toThrow(`--issue-token is ${JSON.stringify(text)}, expected NAMESPACE/ACCOUNT`);
});

test.each([
  { text: '{"issuer":"i"}', rule: { issuer: "i", audiences: [] } },
  { text: '{"issuer":"i","jwks_uri":"u","audiences":["a"]}', rule: { issuer: "i", jwksUri: "u", audiences: ["a"] } },
  { text: '{"issuer":"i","jwks":{"keys":[]}}', rule: { issuer: "i", audiences: [], jwks: '{"keys":[]}' } },
  { text: '{"issuer":"i","jwks":"{}"}', rule: { issuer: "i", audiences: [], jwks: "{}" } },
])("$text is read", ({ text, rule }) => {
  expect(parseJwtRule(text)).toEqual(rule);
});

test.each([
  { text: "x", says: "not JSON" },
  { text: "[]", says: "not a JSON object" },
  { text: "{}", says: '"issuer" must be a text' },
  { text: '{"issuer":"i","audiences":"a"}', says: '"audiences" must be a list of texts' },
  { text: '{"issuer":"i","jwks_uri":1}', says: '"jwks_uri" must be a text' },
  { text: '{"issuer":"i","jwks":1}', says: '"jwks" must be a key list' },
])("$text is refused, and the error says why", ({ text, says }) => {
  expect(() => parseJwtRule(text)).toThrow(says);
});

test.each([
  { text: "127.0.0.1:15012", listen: { host: "127.0.0.1", port: 15012 } },
  { text: "localhost:0", listen: { host: "localhost", port: 0 } },
  { text: "[::1]:15012", listen: { host: "::1", port: 15012 } },
  { text: "unix:/run/ca", listen: { path: "/run/ca" } },
])("$text is an address to serve on", ({ text, listen }) => {
  expect(parseListen(text)).toEqual(listen);
});

test.each(["", "host", ":1", "host:", "host:x", "host:70000", "::1:5", "unix:"])("%j is not an address", (text) => {
  expect(() => parseListen(text)).toThrow(`--listen is ${JSON.stringify(text)}, expected HOST:PORT`);
});
