import fc from "fast-check";
import { expect, test } from "vitest";
import { federatedTokenBody, parseAccessToken, parseFederatedToken } from "./google-token.ts";

test("a request names the pool and who vouches for the subject", () => {
  const body = federatedTokenBody({
    subjectToken: "t",
    subjectTokenType: "jwt",
    grantType: "grant",
    identityNamespace: "pool",
    identityProvider: "idp",
    scope: "s",
  });
  expect(JSON.parse(body)).toEqual({
    audience: "identitynamespace:pool:idp",
    grantType: "grant",
    requestedTokenType: "urn:ietf:params:oauth:token-type:access_token",
    subjectTokenType: "jwt",
    subjectToken: "t",
    scope: "s",
  });
});

test.each([
  { body: '{"access_token":"a","expires_in":5}', token: { accessToken: "a", expiresInSeconds: 5 } },
  { body: '{"access_token":1,"expires_in":"5"}', token: { accessToken: "", expiresInSeconds: 0 } },
  { body: '{"expires_in":-5}', token: { accessToken: "", expiresInSeconds: 0 } },
  { body: "[]", token: { accessToken: "", expiresInSeconds: 0 } },
  { body: "null", token: undefined },
  { body: "<html>", token: undefined },
])("the federated answer $body is $token", ({ body, token }) => {
  expect(parseFederatedToken(body)).toEqual(token);
});

test.each([
  {
    body: '{"accessToken":"a","expireTime":"2026-01-01T00:00:00Z"}',
    token: { accessToken: "a", expireTime: new Date("2026-01-01T00:00:00Z") },
  },
  { body: '{"accessToken":"a","expireTime":"soon"}', token: { accessToken: "a", expireTime: undefined } },
  { body: "{}", token: { accessToken: "", expireTime: undefined } },
  { body: "", token: undefined },
])("the access answer $body is $token", ({ body, token }) => {
  expect(parseAccessToken(body)).toEqual(token);
});

test("any answer gives a token or undefined, never a throw", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (body) => {
      parseFederatedToken(body);
      parseAccessToken(body);
    }),
  );
});
