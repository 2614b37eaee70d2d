import fc from "fast-check";
import { expect, test } from "vitest";
import { Secret } from "../../base/secret.ts";
import { errorAnswer, statusAnswer, successAnswer } from "./answers.ts";
import { checkHead, identityNamespace, parseExchangeRequest, StsError } from "./exchange-request.ts";

const GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT = "urn:ietf:params:oauth:token-type:jwt";
const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
const good = { grant_type: GRANT, subject_token: "t", subject_token_type: JWT };

test.each([
  "application/x-www-form-urlencoded",
  "application/x-www-form-urlencoded; charset=utf-8",
  "Application/X-WWW-Form-Urlencoded",
])("content type %j is accepted", (type) => {
  expect(() => checkHead("POST", type)).not.toThrow();
});

test.each([
  {
    method: "GET",
    type: "application/x-www-form-urlencoded",
    says: "request method is invalid, should be POST but get GET",
  },
  {
    method: "POST",
    type: "application/json",
    says: "request content type is invalid, should be application/x-www-form-urlencoded but get application/json",
  },
  { method: "POST", type: undefined, says: "request content type is invalid" },
])("$method with $type is refused", ({ method, type, says }) => {
  expect(() => checkHead(method, type)).toThrow(
    expect.objectContaining({ code: "invalid_request", message: expect.stringContaining(says) }),
  );
});

test("all fields of the standard are read, absent ones are empty", () => {
  const full = parseExchangeRequest(form({ ...good, audience: "a", scope: "s", resource: "r", actor_token: "x" }));
  expect(full).toMatchObject({ audience: "a", scope: "s", resource: "r", requestedTokenType: "", actorTokenType: "" });
  expect([full.subjectToken.reveal(), full.actorToken.reveal()]).toEqual(["t", "x"]);
  expect(JSON.stringify(full)).not.toContain('"t"');
});

test.each([
  { fields: { ...good, grant_type: "x" }, says: `request query grant_type is invalid, should be ${GRANT} but get x` },
  { fields: { ...good, grant_type: "" }, says: `request query grant_type is invalid, should be ${GRANT} but get ` },
  { fields: { ...good, subject_token: "" }, says: "subject_token is empty" },
  { fields: { ...good, subject_token_type: "y" }, says: `subject_token_type is invalid, should be ${JWT} but get y` },
])("$fields is refused: $says", ({ fields, says }) => {
  expect(() => parseExchangeRequest(form(fields))).toThrow(
    expect.objectContaining({ code: "invalid_request", message: says }),
  );
});

test("a broken escape is refused, and only the escape is shown", () => {
  const parsing = () => parseExchangeRequest("subject_token=secret%zzsecret");
  expect(parsing).toThrow('failed to parse query from STS request: invalid URL escape "%zz"');
});

test("random bodies give a request or a coded error", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.webQueryParameters()), (body) => {
      try {
        parseExchangeRequest(body);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(StsError);
      }
    }),
  );
});

test("a success has every key, indented by one space", () => {
  const { status, body } = successAnswer({ accessToken: new Secret("tok"), expiresAtMs: 61_999 }, 1_000);
  expect(status).toBe(200);
  expect(body).toBe(
    '{\n "access_token": "tok",\n "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",\n "token_type": "Bearer",\n "expires_in": 60,\n "scope": "",\n "refresh_token": ""\n}',
  );
});

test.each([
  { code: "invalid_request" as const, status: 400 },
  { code: "invalid_target" as const, status: 500 },
])("$code is answered with $status, indented by two spaces", ({ code, status }) => {
  expect(errorAnswer({ code, message: "why" })).toEqual({
    status,
    body: `{\n  "error": "${code}",\n  "error_description": "why",\n  "error_uri": ""\n}`,
  });
});

test("the status shows times and never a token", () => {
  expect(statusAnswer([]).body).toBe('{\n "tokens": []\n}');
  const { body } = statusAnswer([{ type: "access token", issuedAtMs: 0, expiresAtMs: 1000 }]);
  expect(JSON.parse(body)).toEqual({
    tokens: [
      {
        token_type: "access token",
        issue_time: "1970-01-01T00:00:00.000Z",
        expire_time: "1970-01-01T00:00:01.000Z",
        token: "",
      },
    ],
  });
});

const token = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.x`;
test.each([
  { subject: token({ aud: "pool" }), namespace: "pool" },
  { subject: token({ aud: ["pool"] }), namespace: "pool" },
  { subject: token({ aud: ["a", "b"] }), namespace: "td" },
  { subject: token({ aud: "" }), namespace: "td" },
  { subject: token({}), namespace: "td" },
  { subject: "no token", namespace: "td" },
])("the namespace of $subject is $namespace", ({ subject, namespace }) => {
  expect(identityNamespace(subject, "td")).toBe(namespace);
});
