import { describe, expect, test } from "vitest";
import type { ConsistentHash } from "../../istio-api/specs.ts";
import type { AppliedDestinationRule } from "../../mesh-model/push-snapshot.ts";
import { buildHashPolicy } from "./destination.ts";
import { shortNames } from "./domains.ts";
import { isHeaderSafe, isRegex } from "./envoy-values.ts";
import { buildHeaderChanges, formatHeaderValue } from "./headers.ts";
import { buildRouteMatch } from "./match.ts";
import { buildRedirect } from "./redirect.ts";

describe("shortNames", () => {
  test.each([
    ["a.ns.svc.d.e", "ns.svc.d.e", ["a", "a.ns.svc", "a.ns"]],
    ["a.ns.svc.d.e", "other.svc.d.e", ["a.ns", "a.ns.svc"]],
    ["a.b.ns.svc.d.e", "ns.svc.d.e", ["a.b.ns", "a.b.ns.svc"]],
    ["a.ns.svc.other", "ns.svc.d.e", []],
    ["a.svc.d.e", "ns.svc.d.e", []],
    ["foo.example.com", "ns.svc.d.e", []],
    ["*.ns.svc.d.e", "ns.svc.d.e", []],
    ["foo.local.campus.net", "local.campus.net", ["foo"]],
    ["foo.local.campus.net", "remote.campus.net", ["foo.local", "foo.local.campus"]],
    ["foo.local.campus.net", "example.com", []],
    ["campus.net", "campus.net", []],
    ["foo", "", []],
  ])("%s for a caller in %j", (host, domain, expected) => {
    expect(shortNames(host, domain)).toEqual(expected);
  });
});

describe("formatHeaderValue", () => {
  test.each([
    ["plain", "plain"],
    ["100%", "100%%"],
    ["100%%", "100%%"],
    ["%DOWNSTREAM_REMOTE_ADDRESS%", "%DOWNSTREAM_REMOTE_ADDRESS%"],
    ["%REQ(x-a)%/%REQ(x-a?x-b):10%", "%REQ(x-a)%/%REQ(x-a?x-b):10%"],
    ["%REQ()%", "%%REQ()%%"],
    ["%REQ(a?b?c)%", "%%REQ(a?b?c)%%"],
    ["%NOTHING%", "%%NOTHING%%"],
    ["a%20b%2Fc", "a%%20b%%2Fc"],
    ["%", "%%"],
    ["50% of %PROTOCOL%", "50%% of %PROTOCOL%"],
  ])("%j is sent as %j", (value, expected) => {
    expect(formatHeaderValue(value)).toBe(expected);
  });
});

describe("buildHeaderChanges", () => {
  test("sets before adds, each by name, and nothing that Envoy would refuse to change", () => {
    const request = {
      set: { b: "1", a: "2", Host: "x", ":path": "/" },
      add: { c: "3", z: "a\nb" },
      remove: ["d", "host", ":method", ""],
    };
    expect(buildHeaderChanges({ request })).toEqual({
      requestHeadersToAdd: [
        { header: { key: "a", value: "2" }, appendAction: "OVERWRITE_IF_EXISTS_OR_ADD" },
        { header: { key: "b", value: "1" }, appendAction: "OVERWRITE_IF_EXISTS_OR_ADD" },
        { header: { key: "c", value: "3" } },
      ],
      requestHeadersToRemove: ["d"],
    });
  });

  test("nothing to do is nothing", () => {
    expect(buildHeaderChanges(undefined)).toEqual({});
  });
});

describe("buildHashPolicy", () => {
  const ruleWith = (consistentHash: Partial<ConsistentHash>) =>
    ({
      spec: { subsets: [], trafficPolicy: { loadBalancer: { consistentHash }, portLevelSettings: [] } },
    }) as unknown as AppliedDestinationRule;
  const cookie = (extra: object) => ({ httpCookie: { name: "s", path: "", attributes: [], ...extra } });

  test.each<[Partial<ConsistentHash>, object | undefined]>([
    [{ httpHeaderName: "x" }, { header: { headerName: "x" } }],
    [{ httpHeaderName: "" }, undefined],
    [cookie({}), { cookie: { name: "s" } }],
    [cookie({ path: "/", ttl: "0s" }), { cookie: { name: "s", path: "/", ttl: "0s" } }],
    [
      cookie({ attributes: [{ name: "SameSite", value: "Strict" }] }),
      { cookie: { name: "s", attributes: [{ name: "SameSite", value: "Strict" }] } },
    ],
    [cookie({ name: "" }), undefined],
    [{ useSourceIp: true }, { connectionProperties: { sourceIp: true } }],
    [{ useSourceIp: false }, { connectionProperties: {} }],
    [{ httpQueryParameterName: "q" }, { queryParameter: { name: "q" } }],
  ])("%j", (hash, expected) => {
    expect(buildHashPolicy(ruleWith(hash), 80, "")).toEqual(expected);
  });

  test("no rule, no policy", () => {
    expect(buildHashPolicy(undefined, 80, "")).toBeUndefined();
  });
});

test.each([
  { scheme: "", isTls: true, port: 443, names: undefined },
  { scheme: "", isTls: true, port: 80, names: 80 },
  { scheme: "", isTls: false, port: 443, names: 443 },
  { scheme: "http", isTls: true, port: 80, names: undefined },
  { scheme: "https", isTls: false, port: 443, names: undefined },
])("a redirect to port $port, scheme '$scheme', of a client with TLS $isTls, names $names", (row) => {
  const redirect = { uri: "/", prefixRewrite: "", authority: "", redirectCode: 0, scheme: row.scheme, port: row.port };
  expect(buildRedirect(redirect, { port: 8443, isTls: row.isTls })?.portRedirect).toBe(row.names);
});

describe("what Envoy would refuse leaves its route out", () => {
  const redirect = { uri: "/", prefixRewrite: "", authority: "", scheme: "", redirectCode: 0 };
  test.each([300, 304, 305, 399])("the redirect code %d", (redirectCode) => {
    expect(buildRedirect({ ...redirect, redirectCode }, { port: 80 })).toBeUndefined();
  });

  test("a line end in a redirect", () => {
    expect(buildRedirect({ ...redirect, uri: "/\n" }, { port: 80 })).toBeUndefined();
  });

  const match = {
    name: "",
    headers: {},
    port: 0,
    sourceLabels: {},
    gateways: [],
    queryParams: {},
    ignoreUriCase: false,
    withoutHeaders: {},
    sourceNamespace: "",
    statPrefix: "",
  };
  test.each([
    ["the path", { uri: { regex: "(?=a)" } }],
    ["a header", { headers: { a: { regex: "(" } } }],
    ["an excluded header", { withoutHeaders: { a: { regex: "(?<!a)b" } } }],
    ["a query parameter", { queryParams: { a: { regex: "\\1" } } }],
    ["the method", { method: { regex: "[" } }],
  ])("a regular expression for %s that is none of RE2", (_where, members) => {
    expect(buildRouteMatch({ ...match, ...members })).toBeUndefined();
  });

  test("the checks themselves", () => {
    expect([isRegex(undefined), isRegex(""), isRegex("*"), isRegex("a+"), isRegex("a(?=b)")]).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
    expect([isHeaderSafe("a", undefined), isHeaderSafe("a\r"), isHeaderSafe("a", "\0")]).toEqual([true, false, false]);
  });
});
