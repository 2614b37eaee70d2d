import { describe, expect, test } from "vitest";
import { httpService, routesOf, scopeOf, virtualService } from "../../../test/support/discovery/routes.ts";
import type { Route } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { generateRoute } from "./generate-route.ts";

const HOST = "web.default.svc.cluster.local";
const TO_WEB = { route: [{ destination: { host: "web" } }] };

/** What one HTTP entry of a rule becomes for a request to port 8080. */
function convert(...http: readonly object[]): readonly Route[] {
  const scope = scopeOf([httpService("web"), virtualService("web", { http })]);
  return routesOf(generateRoute(scope, "8080"), `${HOST}:8080`);
}

const matchOf = (match: object) => convert({ match: [match], ...TO_WEB })[0]?.match;
const actionOf = (entry: object) => convert({ ...TO_WEB, ...entry })[0]?.route;

describe("a match", () => {
  test.each([
    ["an exact path", { uri: { exact: "/a" } }, { path: "/a" }],
    ["a prefix", { uri: { prefix: "/a" } }, { prefix: "/a" }],
    ["a regular expression", { uri: { regex: "/[a-z]+" } }, { safeRegex: { regex: "/[a-z]+" } }],
    ["any path, spelled as nothing", { uri: {} }, { prefix: "/" }],
    ["no case", { uri: { prefix: "/A" }, ignoreUriCase: true }, { prefix: "/A", caseSensitive: false }],
    [
      "a value of a header",
      { headers: { a: { exact: "1" } } },
      { headers: [{ name: "a", stringMatch: { exact: "1" } }] },
    ],
    ["a header that is there", { headers: { a: {} } }, { headers: [{ name: "a", presentMatch: true }] }],
    [
      "a header without value",
      { headers: { a: { exact: "" } } },
      { headers: [{ name: "a", stringMatch: { exact: "" } }] },
    ],
    [
      "a header that is there, spelled *",
      { headers: { a: { regex: "*" } } },
      { headers: [{ name: "a", presentMatch: true }] },
    ],
    [
      "headers in the order of their names, then those of the request line",
      {
        headers: { b: { prefix: "1" }, a: { regex: "2" } },
        method: { exact: "GET" },
        authority: { exact: "h" },
        scheme: { exact: "http" },
      },
      {
        headers: [
          { name: "a", stringMatch: { safeRegex: { regex: "2" } } },
          { name: "b", stringMatch: { prefix: "1" } },
          { name: ":method", stringMatch: { exact: "GET" } },
          { name: ":authority", stringMatch: { exact: "h" } },
          { name: ":scheme", stringMatch: { exact: "http" } },
        ],
      },
    ],
    [
      "a header of another value, or none",
      { withoutHeaders: { a: { exact: "1" } } },
      { headers: [{ name: "a", stringMatch: { exact: "1" }, invertMatch: true, treatMissingHeaderAsEmpty: true }] },
    ],
    [
      "no such header",
      { withoutHeaders: { a: {} } },
      { headers: [{ name: "a", presentMatch: true, invertMatch: true }] },
    ],
    [
      "query parameters",
      { queryParams: { q: { exact: "1" }, p: {} } },
      {
        queryParameters: [
          { name: "p", presentMatch: true },
          { name: "q", stringMatch: { exact: "1" } },
        ],
      },
    ],
  ])("on %s", (_what, match, expected) => {
    expect(matchOf(match)).toEqual({ prefix: "/", caseSensitive: true, ...without(expected), ...expected });
  });

  test("names its route and its statistics", () => {
    const entry = { name: "a", match: [{ name: "b", statPrefix: "s" }, { uri: { prefix: "/x" } }], ...TO_WEB };
    expect(convert({ ...entry, match: entry.match.slice(0, 1) })[0]).toMatchObject({ name: "a.b", statPrefix: "s" });
    expect(convert({ match: [{ name: "b" }], ...TO_WEB })[0]?.name).toBe(".b");
    expect(convert(TO_WEB)[0]?.name).toBeUndefined();
  });
});

/** A path takes the place of the prefix. */
function without(expected: object): object {
  return "path" in expected || "safeRegex" in expected ? { prefix: undefined } : {};
}

describe("the order of routes", () => {
  const at = (prefix: string) => ({ match: [{ uri: { prefix } }], ...TO_WEB });

  test("is that of the rule, and each match of an entry is a route", () => {
    const routes = convert({ match: [{ uri: { prefix: "/a" } }, { uri: { exact: "/b" } }], ...TO_WEB }, at("/c"));
    expect(routes.map(({ match }) => match?.prefix ?? match?.path)).toEqual(["/a", "/b", "/c"]);
  });

  test.each([
    ["no match at all", TO_WEB],
    ["the prefix /", at("/")],
    ["the regular expression .*", { match: [{ uri: { regex: ".*" } }], ...TO_WEB }],
  ])("ends with one that takes every request: %s", (_what, entry) => {
    expect(convert(at("/a"), entry, at("/never"))).toHaveLength(2);
  });

  test("does not end with a prefix / that asks for more", () => {
    expect(convert({ match: [{ uri: { prefix: "/" }, headers: { a: {} } }], ...TO_WEB }, at("/b"))).toHaveLength(2);
  });
});

describe("destinations", () => {
  const to = (host: string, weight: number, extra: object = {}) => ({ destination: { host }, weight, ...extra });
  const cluster = (host: string) => `outbound|8080||${host}.default.svc.cluster.local`;

  test("one alone gets everything, regardless of its weight", () => {
    expect(actionOf({ route: [to("a", 0)] })?.cluster).toBe(cluster("a"));
  });

  test("several share by weight; one of weight 0 gets nothing", () => {
    expect(actionOf({ route: [to("a", 3), to("b", 0), to("c", 1)] })?.weightedClusters).toEqual({
      clusters: [
        { name: cluster("a"), weight: 3 },
        { name: cluster("c"), weight: 1 },
      ],
    });
  });

  test("a single destination's headers come after those of its route", () => {
    const set = (name: string) => ({ headers: { request: { set: { [name]: "1" } } } });
    const [route] = convert({ ...set("z"), route: [to("a", 1, set("a"))] });
    expect(route?.requestHeadersToAdd?.map(({ header }) => header?.key)).toEqual(["z", "a"]);
  });

  test("the authority of a route beats that of its only destination; of several, each keeps its own", () => {
    const named = (host: string) => ({ headers: { request: { set: { Host: host } } } });
    const both = [to("a", 1, named("a.example")), to("b", 1)];
    expect(actionOf({ route: both })?.weightedClusters?.clusters?.[0]?.hostRewriteLiteral).toBe("a.example");
    const over = actionOf({ route: both, ...named("route.example") });
    expect(over?.hostRewriteLiteral).toBe("route.example");
    expect(over?.weightedClusters?.clusters?.[0]?.hostRewriteLiteral).toBe("a.example");
    const single = [to("a", 1, named("a.example"))];
    expect(actionOf({ route: single })?.hostRewriteLiteral).toBe("a.example");
    expect(actionOf({ route: single, ...named("route.example") })?.hostRewriteLiteral).toBe("route.example");
    expect(actionOf({ rewrite: { authority: "r.example" } })?.hostRewriteLiteral).toBe("r.example");
  });
});

describe("what happens to a request", () => {
  test.each([
    ["a time limit", { timeout: "1.5s" }, { timeout: "1.500s", maxGrpcTimeout: "1.500s" }],
    ["none", {}, { timeout: "0s", maxGrpcTimeout: "0s" }],
    ["another prefix", { rewrite: { uri: "/b" } }, { prefixRewrite: "/b" }],
    [
      "another path by pattern",
      { rewrite: { uriRegexRewrite: { match: "a(.)", rewrite: "\\1" } } },
      { regexRewrite: { pattern: { regex: "a(.)" }, substitution: "\\1" } },
    ],
  ])("%s", (_what, entry, expected) => {
    expect(actionOf(entry)).toMatchObject(expected);
  });

  test.each([
    [{ redirect: { uri: "/b" } }, { pathRedirect: "/b" }],
    [{ redirect: { authority: "b.example", redirectCode: 302 } }, { hostRedirect: "b.example", responseCode: "FOUND" }],
    [{ redirect: { scheme: "https", port: 443 } }, { schemeRedirect: "https" }],
    [{ redirect: { uri: "/b", port: 80 } }, { pathRedirect: "/b" }],
    [{ redirect: { scheme: "https", port: 80 } }, { schemeRedirect: "https", portRedirect: 80 }],
    [{ redirect: { uri: "/b", derivePort: "FROM_REQUEST_PORT" } }, { pathRedirect: "/b", portRedirect: 8080 }],
    [{ redirect: { uri: "/b", derivePort: "FROM_PROTOCOL_DEFAULT" } }, { pathRedirect: "/b" }],
    [{ redirect: { uri: "/b", redirectCode: 303 } }, { pathRedirect: "/b", responseCode: "SEE_OTHER" }],
    [{ redirect: { uri: "/b", redirectCode: 307 } }, { pathRedirect: "/b", responseCode: "TEMPORARY_REDIRECT" }],
  ])("%j", (entry, expected) => {
    expect(convert(entry)[0]?.redirect).toEqual({ pathRedirect: "", ...expected });
  });

  test.each([
    ["each request", {}, { numerator: 100 }],
    ["a share", { mirrorPercentage: { value: 12.5 } }, { numerator: 125000, denominator: "MILLION" }],
    ["a share, as spelled of old", { mirrorPercent: 7 }, { numerator: 7 }],
    ["no request", { mirrorPercentage: { value: 0 } }, undefined],
    ["no request, as spelled of old", { mirrorPercent: 0 }, undefined],
  ])("a copy of %s", (_what, entry, share) => {
    const mirrors = actionOf({ mirror: { host: "web", subset: "v2" }, ...entry })?.requestMirrorPolicies;
    expect(mirrors).toEqual(
      share && [
        {
          cluster: `outbound|8080|v2|${HOST}`,
          runtimeFraction: { defaultValue: share },
          traceSampled: false,
          disableShadowHostSuffixAppend: true,
        },
      ],
    );
  });

  test("an answer at once, with headers", () => {
    const response = {
      directResponse: { status: 200, body: { string: "hi" } },
      headers: { response: { set: { a: "1" } } },
    };
    expect(convert(response)[0]).toMatchObject({
      directResponse: { status: 200, body: { inlineString: "hi" } },
      responseHeadersToAdd: [{ header: { key: "a", value: "1" } }],
    });
  });
});

test("a destination without port at a host whose ports two objects share is reached on the port of the request", () => {
  const entry = (name: string, number: number) =>
    httpService(name, { hosts: ["shared.example"], ports: [{ number, name: `http-${number}`, protocol: "HTTP" }] });
  const rule = virtualService("shared", {
    hosts: ["shared.example"],
    http: [{ route: [{ destination: { host: "shared.example" } }] }],
  });
  const scope = scopeOf([entry("a", 90), entry("b", 80), rule]);
  for (const port of [80, 90]) {
    const [route] = routesOf(generateRoute(scope, String(port)), `shared.example:${port}`);
    expect(route?.route?.cluster).toBe(`outbound|${port}||shared.example`);
  }
});
