import { describe, expect, test } from "vitest";
import type { CorsPolicy, HttpFault } from "../../istio-api/specs.ts";
import { buildCors } from "./cors.ts";
import { buildFault } from "./fault.ts";

const FAULT = "type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault";

describe("buildFault", () => {
  const share = { numerator: 5000, denominator: "MILLION" };
  test.each<[string, HttpFault, object | undefined]>([
    [
      "a delay",
      { delay: { percent: 0, fixedDelay: "1s", percentage: { value: 0.5 } } },
      { delay: { fixedDelay: "1s", percentage: share } },
    ],
    [
      "the older percent",
      { delay: { percent: 7, fixedDelay: "1s" } },
      { delay: { fixedDelay: "1s", percentage: { numerator: 7 } } },
    ],
    [
      "a delay of no one's requests",
      { delay: { percent: 0, fixedDelay: "1s" } },
      { delay: { fixedDelay: "1s", percentage: {} } },
    ],
    [
      "an HTTP status",
      { abort: { httpStatus: 503, percentage: { value: 0.5 } } },
      { abort: { httpStatus: 503, percentage: share } },
    ],
    ["a gRPC status", { abort: { grpcStatus: "UNAVAILABLE" } }, { abort: { grpcStatus: 14 } }],
    ["the gRPC status 0", { abort: { grpcStatus: "OK" } }, { abort: { grpcStatus: 0 } }],
    [
      "nothing of what Envoy does not know",
      { delay: { percent: 9, exponentialDelay: "1s" }, abort: { http2Error: "X" } },
      undefined,
    ],
    ["nothing of an unknown gRPC status", { abort: { grpcStatus: "NEVER" } }, undefined],
    [
      "no more of a share than can be counted",
      { abort: { httpStatus: 500, percentage: { value: 12.34567 } } },
      { abort: { httpStatus: 500, percentage: { numerator: 123_456, denominator: "MILLION" } } },
    ],
    [
      "fine shares without loss",
      { abort: { httpStatus: 500, percentage: { value: 0.29 } } },
      { abort: { httpStatus: 500, percentage: { numerator: 2900, denominator: "MILLION" } } },
    ],
  ])("%s", (_what, fault, expected) => {
    expect(buildFault(fault)).toEqual(expected && { "@type": FAULT, ...expected });
  });
});

describe("buildCors", () => {
  const policy: CorsPolicy = {
    allowOrigin: [],
    allowOrigins: [],
    allowMethods: [],
    allowHeaders: [],
    exposeHeaders: [],
    unmatchedPreflights: "UNSPECIFIED",
  };
  const always = { filterEnabled: { defaultValue: { numerator: 100 } }, forwardNotMatchingPreflights: true };

  test.each<[string, Partial<CorsPolicy>, object]>([
    ["nothing", {}, {}],
    [
      "origins",
      { allowOrigins: [{ exact: "a" }, { prefix: "b" }, { regex: "c" }] },
      { allowOriginStringMatch: [{ exact: "a" }, { prefix: "b" }, { safeRegex: { regex: "c" } }] },
    ],
    ["the older spelling of origins", { allowOrigin: ["*"] }, { allowOriginStringMatch: [{ exact: "*" }] }],
    [
      "lists",
      { allowMethods: ["GET", "PUT"], allowHeaders: ["a"], exposeHeaders: ["b", "c"] },
      { allowMethods: "GET,PUT", allowHeaders: "a", exposeHeaders: "b,c" },
    ],
    ["an age", { maxAge: "3600s" }, { maxAge: "3600" }],
    ["an age of zero", { maxAge: "0s" }, { maxAge: "0" }],
    ["no credentials", { allowCredentials: false }, { allowCredentials: false }],
    ["preflights of others not passed on", { unmatchedPreflights: "IGNORE" }, { forwardNotMatchingPreflights: false }],
  ])("%s", (_what, given, expected) => {
    const { "@type": type, ...rest } = buildCors({ ...policy, ...given });
    expect(type).toBe("type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy");
    expect(rest).toEqual({ ...always, ...expected });
  });
});
