import type { CorsPolicy } from "../specs.ts";
import { headerNameReason } from "./headers.ts";
import { regexReason } from "./regex.ts";
import { each, type Report } from "./report.ts";
import { durationReason } from "./values.ts";

const METHODS = new Set(["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"]);

export function validateCors(report: Report, policy: CorsPolicy): void {
  each(report, "allowOrigins", policy.allowOrigins, (at, { exact, prefix, regex }) => {
    if ((exact ?? prefix ?? regex ?? "") === "")
      at.error("'exact', 'prefix' or 'regex' must be set to a non-empty value");
    if (regex !== undefined) at.error(regexReason("corsPolicy", regex), "regex");
  });
  policy.allowMethods.forEach((method, index) => {
    if (method !== "*" && !METHODS.has(method)) {
      report.error(`${JSON.stringify(method)} is not a supported HTTP method`, "allowMethods", index);
    }
  });
  for (const list of ["allowHeaders", "exposeHeaders"] as const) {
    policy[list].forEach((name, index) => {
      if (name !== "*") report.error(headerNameReason(name), list, index);
    });
  }
  if (policy.maxAge === undefined) return;
  report.error(durationReason(policy.maxAge), "maxAge");
  if (policy.maxAge.includes(".")) report.error("max_age duration is accurate only to seconds precision", "maxAge");
}
