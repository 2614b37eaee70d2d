import { parseProtoDuration } from "../../protobuf/proto-duration.ts";
import type { ValidationProblem } from "../proxy-config/explain-problems.ts";
import { durationProblem } from "../values/duration-problem.ts";
import type { HttpRetry } from "./mesh-config.ts";

const FIELD = "defaultInboundHttpRetryPolicy";

/** Rules of retries towards the application. */
export function inboundRetryProblems(policy: HttpRetry | undefined): readonly ValidationProblem[] {
  if (policy === undefined) return [];
  const problems: ValidationProblem[] = [];
  const add = (member: string, message: string) => problems.push({ field: `${FIELD}.${member}`, message });
  if ((policy.attempts ?? 0) < 0) add("attempts", "attempts cannot be negative");
  if ((policy.attempts ?? 0) === 0 && (policy.retryOn ?? "") !== "") {
    add("attempts", "http retry policy configured when attempts are set to 0 (disabled)");
  }
  if (policy.backoff !== undefined) {
    const reason = durationProblem(parseProtoDuration(policy.backoff));
    if (reason !== undefined) add("backoff", `backoff ${reason}`);
  }
  return problems;
}

/** Members that make no sense where there is exactly one host to ask. */
export function inboundRetryWarnings(policy: HttpRetry | undefined): readonly string[] {
  const ignored = (["perTryTimeout", "retryRemoteLocalities", "retryIgnorePreviousHosts"] as const).filter(
    (name) => policy?.[name] !== undefined,
  );
  return ignored.map((name) => `${FIELD}: ${name} is ignored for inbound retries`);
}
