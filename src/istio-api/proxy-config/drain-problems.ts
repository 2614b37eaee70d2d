import { parseProtoDuration } from "../../protobuf/proto-duration.ts";
import { durationProblem } from "../values/duration-problem.ts";
import type { ValidationProblem } from "./explain-problems.ts";
import type { ProxyConfig } from "./proxy-config.ts";
import type { ProxyConfigRules } from "./proxy-config-rules.ts";

const SECOND = 1_000_000_000n;
const HOUR = 3600n * SECOND;

/** Envoy takes its drain times in whole seconds. Generations with hot restart also relate the parent's shutdown to it. */
export function drainProblems(config: ProxyConfig, rules: ProxyConfigRules): readonly ValidationProblem[] {
  const drain = parseProtoDuration(config.drainDuration ?? "0s");
  const reason = durationProblem(drain);
  if (!rules.validatesParentShutdown) {
    if (reason !== undefined) return [{ field: "drainDuration", message: `invalid drain duration: ${reason}` }];
    if (drain % SECOND === 0n) return [];
    return [{ field: "drainDuration", message: "drain time only supports durations to seconds precision" }];
  }
  const parent = parseProtoDuration(config.parentShutdownDuration ?? "0s");
  const parentReason = durationProblem(parent);
  const problems: ValidationProblem[] = [];
  if (reason !== undefined) problems.push({ field: "drainDuration", message: `invalid drain duration: ${reason}` });
  if (parentReason !== undefined) {
    problems.push({ field: "parentShutdownDuration", message: `invalid parent shutdown duration: ${parentReason}` });
  }
  // Times that are wrong by themselves make their combination meaningless.
  return problems.length > 0 ? problems : combination(drain, parent);
}

/** The old process must outlive its draining, or connections are cut. */
function combination(drain: bigint, parent: bigint): readonly ValidationProblem[] {
  const prefix = "invalid parent and drain time combination";
  const problems: ValidationProblem[] = [];
  const add = (field: string, message: string) => problems.push({ field, message });
  if (drain % SECOND !== 0n)
    add("drainDuration", "invalid drain duration: drain time only supports durations to seconds precision");
  if (parent % SECOND !== 0n)
    add(
      "parentShutdownDuration",
      "invalid parent shutdown duration: parent shutdown time only supports durations to seconds precision",
    );
  if (parent <= drain)
    add(
      "parentShutdownDuration",
      `${prefix}: parent shutdown time ${parent / SECOND}s must be greater than drain time ${drain / SECOND}s`,
    );
  if (drain > HOUR) add("drainDuration", "invalid drain duration: drain time must be <= 1h0m0s");
  if (parent > HOUR)
    add("parentShutdownDuration", "invalid parent shutdown duration: parent shutdown time must be <= 1h0m0s");
  return problems;
}
