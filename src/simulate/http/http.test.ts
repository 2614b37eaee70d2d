import { createSign, generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { checkTokens } from "./jwt.ts";
import { enforce } from "./rbac.ts";
import { redirectOf, rewriteRequest } from "./rewrite.ts";
import { chooseRoutes } from "./route.ts";
import { chooseVirtualHost } from "./virtual-host.ts";

describe("the virtual host", () => {
  const host = (name: string, ...domains: readonly string[]) => ({ name, domains });
  const config = {
    ignorePortInHostMatching: true,
    virtualHosts: [
      host("any", "*"),
      host("wide", "*.example"),
      host("narrow", "*.a.example"),
      host("front", "api.*"),
      host("exact", "x.a.example"),
    ],
  };
  test.each([
    { authority: "X.a.example:8080", name: "exact" },
    { authority: "y.a.example", name: "narrow" },
    { authority: "y.example", name: "wide" },
    { authority: "api.other", name: "front" },
    { authority: "other", name: "any" },
  ])("of $authority is $name", ({ authority, name }) => {
    expect(chooseVirtualHost(config, authority)?.name).toBe(name);
  });

  test("is none where no domain fits", () => {
    expect(chooseVirtualHost({ virtualHosts: [host("a", "a.example")] }, "b.example")).toBeUndefined();
  });
});

test("a route for a fraction of the requests leaves the others to those behind it", () => {
  const half = { match: { prefix: "/", runtimeFraction: { defaultValue: { numerator: 25 } } } };
  const routes = [half, { match: { prefix: "/" } }];
  const chosen = chooseRoutes({ routes }, { ":path": "/" }, {});
  expect(chosen.map(({ index, share }) => [index, share])).toEqual([
    [0, 0.25],
    [1, 0.75],
  ]);
});

test("a rewrite changes prefix, host and headers and leaves the query", () => {
  const request = { headers: { ":path": "/v1/x?q", ":authority": "a", keep: "1", drop: "2" } };
  const route = {
    match: { prefix: "/v1" },
    route: { prefixRewrite: "/w", hostRewriteLiteral: "b" },
    requestHeadersToAdd: [
      { header: { key: "Keep", value: "2" } },
      { header: { key: "new", value: "3" }, appendAction: "ADD_IF_ABSENT" as const },
    ],
    requestHeadersToRemove: ["drop"],
  };
  expect(rewriteRequest(request, route, [route], undefined).request.headers).toEqual({
    ":path": "/w/x?q",
    ":authority": "b",
    keep: "1,2",
    new: "3",
  });
});

test("a redirect keeps what it does not name", () => {
  const headers = { ":authority": "a.example:8080", ":path": "/old?q=1" };
  expect(redirectOf({ pathRedirect: "/new", responseCode: "FOUND" }, {}, headers, false)).toEqual({
    status: 302,
    location: "http://a.example:8080/new",
  });
  expect(redirectOf({ httpsRedirect: true, portRedirect: 443 }, {}, headers, false).location).toBe(
    "https://a.example/old?q=1",
  );
});

describe("access", () => {
  const connection = {
    destination: { address: "10.0.0.1", port: 80 },
    sourceAddress: "10.1.0.1",
    speaks: "http1",
  } as const;
  const access = {
    connection,
    identity: "spiffe://td/ns/a/sa/b",
    headers: { ":path": "/x?q", ":method": "GET" },
    metadata: {},
  };
  const policy = (permission: object, principal: object) => ({
    p: { permissions: [permission], principals: [principal] },
  });
  const ANY = { any: true };

  test.each([
    {
      what: "the path without its query",
      permission: { urlPath: { path: { exact: "/x" } } },
      principal: ANY,
      matches: true,
    },
    { what: "a port", permission: { destinationPort: 81 }, principal: ANY, matches: false },
    {
      what: "an identity",
      permission: ANY,
      principal: { authenticated: { principalName: { suffix: "/sa/b" } } },
      matches: true,
    },
    {
      what: "a range",
      permission: ANY,
      principal: { directRemoteIp: { addressPrefix: "10.1.0.0", prefixLen: 16 } },
      matches: true,
    },
    { what: "what is not", permission: ANY, principal: { notId: ANY }, matches: false },
  ])("is by $what: $matches", ({ permission, principal, matches }) => {
    const policies = policy(permission, principal);
    expect(enforce({ policies }, access).allowed).toBe(matches);
    expect(enforce({ policies, action: "DENY" }, access).allowed).toBe(!matches);
  });

  test("nobody is anybody without mutual TLS, and rules without policies allow nothing", () => {
    const policies = policy(ANY, { authenticated: {} });
    expect(enforce({ policies }, { ...access, identity: undefined }).allowed).toBe(false);
    expect(enforce({}, access).allowed).toBe(false);
  });
});

describe("tokens", () => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keys = JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k", alg: "ES256" }] });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const sign = (claims: object) => {
    const text = `${part({ alg: "ES256", kid: "k" })}.${part(claims)}`;
    return `${text}.${createSign("SHA256").update(text).sign({ key: privateKey, dsaEncoding: "ieee-p1363" }, "base64url")}`;
  };
  const provider = {
    issuer: "me",
    audiences: ["shop"],
    localJwks: { inlineString: keys },
    payloadInMetadata: "payload",
  };
  const config = {
    providers: { p: provider },
    rules: [
      {
        match: { prefix: "/" },
        requires: { requiresAny: { requirements: [{ providerName: "p" }, { allowMissing: {} }] } },
      },
    ],
  };
  const check = (authorization?: string) =>
    checkTokens(config, { ":path": "/", ...(authorization !== undefined && { authorization }) }, 1_000_000);

  test("a good one gives its claims and is not sent on", () => {
    const found = check(`Bearer ${sign({ iss: "me", aud: ["shop"], exp: 1001 })}`);
    expect(found).toMatchObject({ issuers: ["me"], claims: { payload: { iss: "me" } } });
    expect(found.headers.authorization).toBeUndefined();
  });

  test.each([
    { what: "none", token: undefined, status: undefined },
    { what: "one of another issuer", token: sign({ iss: "you", aud: "shop" }), status: 401 },
    { what: "one for others", token: sign({ iss: "me", aud: "else" }), status: 403 },
    { what: "one that expired", token: sign({ iss: "me", aud: "shop", exp: 900 }), status: 401 },
    {
      what: "one with another's signature",
      token: `${sign({ iss: "me", aud: "shop" }).slice(0, -4)}AAAA`,
      status: 401,
    },
    { what: "garbage", token: "x", status: 401 },
  ])("$what: $status", ({ token, status }) => {
    expect(check(token === undefined ? undefined : `Bearer ${token}`).refusal?.status).toBe(status);
  });
});
