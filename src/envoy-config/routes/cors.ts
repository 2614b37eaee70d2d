import type { CorsPolicy } from "../../istio-api/specs.ts";
import { type AnyMessage, pack } from "../../protobuf/envoy/index.ts";
import { buildPercent, buildStringMatcher, isRegex } from "./envoy-values.ts";

export const CORS_FILTER = "envoy.filters.http.cors";

export function buildCors(policy: CorsPolicy): AnyMessage {
  const origins = policy.allowOrigins.flatMap((origin) =>
    isRegex(origin.regex) ? (buildStringMatcher(origin) ?? []) : [],
  );
  // `allowOrigin` is the older spelling, for whole origins only.
  const allowed = origins.length > 0 ? origins : policy.allowOrigin.map((exact) => ({ exact }));
  return pack("envoy.extensions.filters.http.cors.v3.CorsPolicy", {
    ...(allowed.length > 0 && { allowOriginStringMatch: allowed }),
    ...joined("allowMethods", policy.allowMethods),
    ...joined("allowHeaders", policy.allowHeaders),
    ...joined("exposeHeaders", policy.exposeHeaders),
    ...(policy.maxAge !== undefined && { maxAge: String(wholeSeconds(policy.maxAge)) }),
    ...(policy.allowCredentials !== undefined && { allowCredentials: policy.allowCredentials }),
    filterEnabled: { defaultValue: buildPercent(100) },
    forwardNotMatchingPreflights: policy.unmatchedPreflights !== "IGNORE",
  });
}

function joined<Name extends string>(name: Name, values: readonly string[]): { readonly [Key in Name]?: string } {
  return values.length === 0 ? {} : ({ [name]: values.join(",") } as { [Key in Name]?: string });
}

function wholeSeconds(duration: string): number {
  return Math.trunc(Number.parseFloat(duration));
}
