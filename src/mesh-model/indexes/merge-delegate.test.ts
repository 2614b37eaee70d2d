import { describe, expect, test } from "vitest";
import type { HttpMatch, HttpRoute } from "../../istio-api/specs.ts";
import { mergeDelegate, mergeMatch } from "./merge-delegate.ts";

const NOTHING: HttpMatch = {
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

const match = (members: Partial<HttpMatch>): HttpMatch => ({ ...NOTHING, ...members });

describe("requests that both matches accept", () => {
  test.each<{ root: Partial<HttpMatch>; delegate: Partial<HttpMatch>; merged: Partial<HttpMatch> }>([
    { root: {}, delegate: {}, merged: {} },
    { root: { uri: { prefix: "/a" } }, delegate: {}, merged: { uri: { prefix: "/a" } } },
    { root: {}, delegate: { uri: { regex: "/a.*" } }, merged: { uri: { regex: "/a.*" } } },
    { root: { uri: { prefix: "/a" } }, delegate: { uri: { prefix: "/a/b" } }, merged: { uri: { prefix: "/a/b" } } },
    { root: { uri: { prefix: "/a" } }, delegate: { uri: { exact: "/a/b" } }, merged: { uri: { exact: "/a/b" } } },
    { root: { uri: { exact: "/a" } }, delegate: { uri: { exact: "/a" } }, merged: { uri: { exact: "/a" } } },
    {
      root: { method: { exact: "GET" } },
      delegate: { scheme: { exact: "http" } },
      merged: { method: { exact: "GET" }, scheme: { exact: "http" } },
    },
    {
      root: { headers: { a: { exact: "1" } } },
      delegate: { headers: { b: { prefix: "2" } } },
      merged: { headers: { a: { exact: "1" }, b: { prefix: "2" } } },
    },
    {
      root: { withoutHeaders: { a: { prefix: "1" } } },
      delegate: { withoutHeaders: { a: { prefix: "12" } } },
      merged: { withoutHeaders: { a: { prefix: "12" } } },
    },
    {
      root: { headers: { a: { prefix: "1" } } },
      delegate: { headers: { a: { exact: "12" } } },
      merged: { headers: { a: { exact: "12" } } },
    },
    { root: { port: 80 }, delegate: {}, merged: { port: 80 } },
    { root: {}, delegate: { port: 80 }, merged: { port: 80 } },
    {
      root: { sourceLabels: { a: "1" } },
      delegate: { sourceLabels: { a: "1", b: "2" } },
      merged: { sourceLabels: { a: "1", b: "2" } },
    },
    { root: {}, delegate: { sourceNamespace: "n" }, merged: { sourceNamespace: "n" } },
    { root: { statPrefix: "r" }, delegate: { statPrefix: "d" }, merged: { statPrefix: "d" } },
    { root: { statPrefix: "r" }, delegate: {}, merged: { statPrefix: "r" } },
    { root: { gateways: ["mesh", "a/b"] }, delegate: { gateways: ["mesh"] }, merged: { gateways: ["mesh"] } },
    { root: { gateways: ["mesh"] }, delegate: {}, merged: { gateways: ["mesh"] } },
    { root: { name: "r" }, delegate: { name: "d" }, merged: { name: "r-d" } },
    { root: { name: "r" }, delegate: {}, merged: { name: "r" } },
    {
      root: { uri: { prefix: "/A" }, ignoreUriCase: true },
      delegate: { ignoreUriCase: true },
      merged: { uri: { prefix: "/A" }, ignoreUriCase: true },
    },
  ])("$root and $delegate is $merged", ({ root, delegate, merged }) => {
    expect(mergeMatch(match(root), match(delegate))).toEqual(match(merged));
  });

  test.each<{ root: Partial<HttpMatch>; delegate: Partial<HttpMatch> }>([
    { root: { uri: { prefix: "/a" } }, delegate: { uri: { prefix: "/b" } } },
    { root: { uri: { prefix: "/a/b" } }, delegate: { uri: { prefix: "/a" } } },
    { root: { uri: { prefix: "/a" } }, delegate: { uri: { regex: "/a.*" } } },
    { root: { uri: { regex: "/a.*" } }, delegate: { uri: { prefix: "/a" } } },
    { root: { uri: { exact: "/a" } }, delegate: { uri: { prefix: "/a" } } },
    { root: { uri: { exact: "/a" } }, delegate: { uri: { exact: "/b" } } },
    { root: { uri: { prefix: "/a" } }, delegate: { uri: { prefix: "/a" }, ignoreUriCase: true } },
    { root: { method: { exact: "GET" } }, delegate: { method: { exact: "PUT" } } },
    { root: { headers: { a: { exact: "1" } } }, delegate: { headers: { a: { exact: "2" } } } },
    { root: { withoutHeaders: { a: { prefix: "12" } } }, delegate: { withoutHeaders: { a: { prefix: "1" } } } },
    { root: { uri: { regex: "x" } }, delegate: { uri: { regex: "x" } } },
    { root: { headers: { a: {} } }, delegate: { headers: { a: { exact: "1" } } } },
    { root: { headers: { a: { exact: "1" } } }, delegate: { headers: { a: {} } } },
    { root: { ignoreUriCase: true }, delegate: { uri: { prefix: "/a" } } },
    { root: { sourceNamespace: "n" }, delegate: {} },
    { root: { queryParams: { a: { exact: "1" } } }, delegate: { queryParams: { a: { exact: "2" } } } },
    { root: { port: 80 }, delegate: { port: 81 } },
    { root: { sourceLabels: { a: "1" } }, delegate: { sourceLabels: { a: "2" } } },
    { root: { sourceNamespace: "n" }, delegate: { sourceNamespace: "m" } },
    { root: { gateways: ["mesh"] }, delegate: { gateways: ["a/b"] } },
  ])("$root and $delegate contradict each other", ({ root, delegate }) => {
    expect(mergeMatch(match(root), match(delegate))).toBeUndefined();
  });

  test("a header named like a member of every object is a header", () => {
    const merged = mergeMatch(
      match({ headers: { a: { exact: "1" } } }),
      match({ headers: { constructor: { exact: "2" } } }),
    );
    expect(merged?.headers).toEqual({ a: { exact: "1" }, constructor: { exact: "2" } });
  });
});

describe("routes of a delegate", () => {
  const route = (members: Partial<HttpRoute>): HttpRoute => ({
    name: "",
    match: [],
    route: [],
    mirrors: [],
    ...members,
  });
  const to = (host: string) => [{ destination: { host, subset: "" }, weight: 0 }];

  test("settings of the delegate win, those it lacks come from the root", () => {
    const root = route({
      name: "r",
      timeout: "1s",
      mirrors: [{ destination: { host: "m", subset: "" } }],
      retries: { attempts: 3, retryOn: "" },
    });
    const [merged] = mergeDelegate(root, [route({ name: "d", timeout: "2s", route: to("a") })]);
    expect(merged).toEqual({ ...root, name: "r-d", timeout: "2s", route: to("a") });
  });

  test("each match of the delegate meets each of the root, in that order", () => {
    const uris = (...prefixes: string[]) => prefixes.map((prefix) => match({ uri: { prefix } }));
    const root = route({ match: uris("/a", "/b") });
    const [merged] = mergeDelegate(root, [route({ match: uris("/a/1", "/b/1", "/a/2"), route: to("x") })]);
    expect(merged?.match.map(({ uri }) => uri?.prefix)).toEqual(["/a/1", "/b/1", "/a/2"]);
  });

  test("one match outside of the root's takes the whole route with it", () => {
    const uris = (...prefixes: string[]) => prefixes.map((prefix) => match({ uri: { prefix } }));
    const root = route({ match: uris("/a", "/b") });
    expect(mergeDelegate(root, [route({ match: uris("/a/1", "/c"), route: to("x") })])).toEqual([]);
  });

  test("a route that contradicts the root and one that delegates again are left out", () => {
    const root = route({ match: [match({ port: 80 })] });
    const routes = mergeDelegate(root, [
      route({ name: "other", match: [match({ port: 81 })], route: to("a") }),
      route({ name: "nested", delegate: { name: "x", namespace: "" } }),
      route({ name: "kept", route: to("b") }),
    ]);
    expect(routes.map(({ name }) => name)).toEqual(["kept"]);
    expect(routes[0]?.match).toEqual(root.match);
  });
});
