import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareAge, objectKey } from "../istio-api/config-object.ts";
import { compareSpecificity, hostCovers, hostsOverlap, resolveShortHost } from "../istio-api/values/hostname.ts";
import { isHttp, isHttp2, isSniffed, isTls, PROTOCOLS, parseProtocol } from "../istio-api/values/protocol.ts";
import { formatLocality, parseLocality } from "./locality.ts";
import { selectProtocol } from "./select-protocol.ts";
import { selects } from "./selector.ts";
import { exportToKey, isPrivate, isVisibleTo } from "./visibility.ts";
import { formatSpiffe, parseSpiffe } from "./workload-identity.ts";

describe("the protocol of a port", () => {
  test.each([
    { name: "http-foo", is: "HTTP" },
    { name: "httpfoo", is: "Unsupported" },
    { name: "HTTP2-x", is: "HTTP2" },
    { name: "grpc", is: "GRPC" },
    { name: "grpc-web-x", is: "GRPC-Web" },
    { name: "grpc-web", is: "GRPC-Web" },
    { name: "grpc-webby", is: "GRPC" },
    { name: "mongo", is: "Mongo" },
    { name: "tcp", appProtocol: "https", is: "HTTPS" },
    { name: "tcp", appProtocol: "kubernetes.io/h2c", is: "HTTP2" },
    { name: "tcp", appProtocol: "kubernetes.io/ws", is: "HTTP" },
    { name: "tcp", appProtocol: "kubernetes.io/wss", is: "HTTPS" },
    { name: "http", appProtocol: "what", is: "Unsupported" },
    { name: "http", appProtocol: "constructor", is: "Unsupported" },
    { name: "", number: 3306, is: "TCP" },
    { name: "", number: 27017, is: "TCP" },
    { name: "http", number: 3306, is: "HTTP" },
    { name: "http-dns", transport: "UDP" as const, is: "UDP" },
    { name: "", is: "Unsupported" },
  ])("$name $appProtocol $number $transport is $is", ({ is, number = 8080, ...port }) => {
    expect(selectProtocol({ number, ...port })).toBe(is);
  });

  test("names are read regardless of their case; every protocol is of at most one family", () => {
    expect(["http_proxy", "Grpc-WEB", "MYSQL", "unknown", ""].map(parseProtocol)).toEqual([
      "HTTP_PROXY",
      "GRPC-Web",
      "MySQL",
      "Unsupported",
      "Unsupported",
    ]);
    expect(PROTOCOLS.filter(isHttp)).toEqual(["HTTP", "HTTP2", "GRPC", "GRPC-Web", "HTTP_PROXY"]);
    expect(PROTOCOLS.filter(isHttp2)).toEqual(["HTTP2", "GRPC", "GRPC-Web"]);
    expect(PROTOCOLS.filter(isTls)).toEqual(["HTTPS", "TLS"]);
    expect(PROTOCOLS.filter(isSniffed)).toEqual(["Unsupported"]);
  });
});

describe("host names", () => {
  test.each([
    { outer: "a.b", inner: "a.b", covers: true },
    { outer: "a.b", inner: "x.a.b", covers: false },
    { outer: "*.a.b", inner: "x.a.b", covers: true },
    { outer: "*.a.b", inner: "y.x.a.b", covers: true },
    { outer: "*.a.b", inner: "a.b", covers: false },
    { outer: "*.b", inner: "*.a.b", covers: true },
    { outer: "*.a.b", inner: "*.b", covers: false },
    { outer: "*", inner: "anything", covers: true },
    { outer: "*", inner: "*.b", covers: true },
    { outer: "*-x.b", inner: "a-x.b", covers: true },
    { outer: "x.b", inner: "*.b", covers: false },
  ])("$outer covers $inner: $covers", ({ outer, inner, covers }) => {
    expect(hostCovers(outer, inner)).toBe(covers);
    if (covers) expect(hostsOverlap(outer, inner) && hostsOverlap(inner, outer)).toBe(true);
  });

  test("the more specific comes first: names, then long wildcards, then short ones", () => {
    const hosts = ["*", "*.local", "b.c", "*.svc.local", "a.svc.local", "a.c"];
    expect(hosts.sort(compareSpecificity)).toEqual(["a.svc.local", "a.c", "b.c", "*.svc.local", "*.local", "*"]);
  });

  test.each([
    { host: "reviews", is: "reviews.prod.svc.cluster.local" },
    { host: "reviews.other", is: "reviews.other" },
    { host: "*.example", is: "*.example" },
    { host: "*", is: "*" },
    { host: "", is: "" },
  ])("$host in a rule of prod means $is", ({ host, is }) =>
    expect(resolveShortHost(host, "prod", "cluster.local")).toBe(is),
  );
});

describe("visibility", () => {
  test.each([
    { exportTo: [], sees: true },
    { exportTo: ["*"], sees: true },
    { exportTo: ["."], sees: false },
    { exportTo: ["~"], sees: false },
    { exportTo: ["other"], sees: true },
    { exportTo: ["third", "."], sees: false },
  ])("a service of own exported to $exportTo is seen in other: $sees", ({ exportTo, sees }) => {
    expect(isVisibleTo(exportTo, "own", "other")).toBe(sees);
  });

  test("an absent list takes the mesh's default; the own namespace is meant by dot and by name", () => {
    expect(isVisibleTo([], "own", "other", ["."])).toBe(false);
    expect(isVisibleTo(["."], "own", "own")).toBe(true);
    expect(isPrivate(["own"], "own") && isPrivate([], "own", ["."]) && !isPrivate(["own", "x"], "own")).toBe(true);
    expect(exportToKey([".", "b"], "a")).toBe(exportToKey(["b", "a"], "a"));
    expect(exportToKey([], "a")).toBe("*");
  });
});

test("objects win by age, then name, then namespace, and their keys are unambiguous", () => {
  const object = (creationTime: number, name: string, namespace: string) => ({ creationTime, name, namespace });
  const objects = [object(2, "a", "a"), object(1, "b", "a"), object(1, "a", "b"), object(1, "a", "a")];
  expect(objects.sort(compareAge)).toEqual([
    object(1, "a", "a"),
    object(1, "a", "b"),
    object(1, "b", "a"),
    object(2, "a", "a"),
  ]);
  expect(objectKey({ kind: "Sidecar", namespace: "ab", name: "c" })).not.toBe(
    objectKey({ kind: "Sidecar", namespace: "a", name: "bc" }),
  );
});

test("a selector wants all its labels, an empty one wants nothing", () => {
  expect(selects({}, {})).toBe(true);
  expect(selects({ a: "1" }, { a: "1", b: "2" })).toBe(true);
  expect(selects({ a: "1", c: "" }, { a: "1" })).toBe(false);
  expect(selects({ toString: "x" }, {})).toBe(false);
});

test("localities and identities are read back from what they print", () => {
  expect(parseLocality("r/z/s/t")).toEqual({ region: "r", zone: "z", subzone: "s" });
  expect(formatLocality(parseLocality("r"))).toBe("r");
  const word = fc.stringMatching(/^[a-z0-9.-]{1,9}$/);
  fc.assert(
    fc.property(word, word, word, (trustDomain, namespace, serviceAccount) => {
      const identity = { trustDomain, namespace, serviceAccount };
      expect(parseSpiffe(formatSpiffe(identity))).toEqual(identity);
      const text = [trustDomain, namespace, serviceAccount].join("/");
      expect(formatLocality(parseLocality(text))).toBe(text);
    }),
  );
  for (const bad of [
    "",
    "spiffe://td/ns/a",
    "spiffe://td/ns/a/sa/b/c",
    "https://td/ns/a/sa/b",
    "spiffe:///ns/a/sa/b",
  ]) {
    expect(parseSpiffe(bad)).toBeUndefined();
  }
});
