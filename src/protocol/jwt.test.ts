import fc from "fast-check";
import { expect, test } from "vitest";
import { JwtError, jwtAudiences, jwtExpiry, parseJwt } from "./jwt.ts";

const segment = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const token = (claims: unknown) => `${segment({ alg: "RS256" })}.${segment(claims)}.c2ln`;

test("a token is taken apart", () => {
  const jwt = parseJwt(token({ sub: "x", exp: 12 }));
  expect(jwt).toMatchObject({ header: { alg: "RS256" }, claims: { sub: "x", exp: 12 }, signature: Buffer.from("sig") });
  expect(jwt.signed).toBe(token({ sub: "x", exp: 12 }).replace(/\.c2ln$/, ""));
});

test("segments may carry padding", () => {
  const padded = Buffer.from('{"a":1}').toString("base64");
  expect(parseJwt(`${padded}.${padded}.`).claims).toEqual({ a: 1 });
});

test.each([
  { claims: {}, expiry: undefined },
  { claims: { exp: "12" }, expiry: undefined },
  { claims: { exp: 12.5 }, expiry: 12.5 },
])("the expiry of $claims is $expiry", ({ claims, expiry }) => {
  expect(jwtExpiry(claims)).toBe(expiry);
});

test.each([
  { aud: undefined, audiences: [] },
  { aud: "a", audiences: ["a"] },
  { aud: ["a", "b"], audiences: ["a", "b"] },
  { aud: ["a", 1, null], audiences: ["a"] },
  { aud: { a: 1 }, audiences: [] },
])("the audiences of $aud are $audiences", ({ aud, audiences }) => {
  expect(jwtAudiences({ aud })).toEqual(audiences);
});

test.each([
  "",
  "a.b",
  "a.b.c.d",
  "secret.secret.secret",
  `${segment([])}.${segment({})}.x`,
  `${segment({})}.${segment("text")}.x`,
  `${segment({})}.*.x`,
  `.${"x".repeat(70_000)}.`,
])("a malformed token is refused without being quoted", (text) => {
  const parsing = () => parseJwt(text);
  expect(parsing).toThrow(JwtError);
  expect(parsing).not.toThrow(/secret/);
});

test("random text gives a token or a coded error", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 60 }), fc.jsonValue(), (text, value) => {
      for (const candidate of [text, `${segment(value)}.${segment(value)}.${text}`]) {
        try {
          parseJwt(candidate);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(JwtError);
        }
      }
    }),
  );
});
