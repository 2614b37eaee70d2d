import { CodedError } from "../coded-error.ts";
import { LOG_LEVELS, type LogThreshold } from "../logger.ts";

export class LogOptionError extends CodedError<"invalid-level" | "invalid-format" | "unusable-target"> {}

/** Threshold by scope name, as one `scope:level,...` option gives it. */
export type ScopeLevels = ReadonlyMap<string, LogThreshold>;

/** Every scope the agent's help names. A logger of another name starts at info too. */
export const AGENT_SCOPES = [
  "ads",
  "ca",
  "cache",
  "capture",
  "citadelclient",
  "default",
  "dns",
  "envoy",
  "gcecred",
  "googleca",
  "googlecas",
  "grpc",
  "healthcheck",
  "iptables",
  "klog",
  "mockcred",
  "monitoring",
  "probes",
  "sds",
  "security",
  "serverca",
  "spiffe",
  "stsclient",
  "stsserver",
  "token",
  "validation",
  "wasm",
  "xdsproxy",
] as const;

/** Scopes of the control plane, which the agent's help does not name. */
const SERVER_SCOPES = [
  "console",
  "consul",
  "injector",
  "kube",
  "status",
  "validationServer",
  "webhooks",
  "wle",
] as const;

/**
 * Applies items left to right to a copy of `current`: a bare level means the default scope, `all` means every scope so far; unknown
 * scopes are accepted and have no effect, their level is checked all the same.
 */
export function applyScopeLevels(current: ScopeLevels, option: string): ScopeLevels {
  const next = new Map(current);
  if (option === "") return next;
  for (const item of option.split(",")) {
    const parts = item.split(":");
    if (parts.length > 2) throw new LogOptionError("invalid-format", `invalid output level format '${item}'`);
    const [scope, level] = parts.length === 1 ? ["default", parts[0] ?? ""] : [parts[0] ?? "", parts[1] ?? ""];
    const threshold = LOG_LEVELS.find((known) => known === level);
    if (threshold === undefined) throw new LogOptionError("invalid-level", `invalid output level '${level}'`);
    if (scope === "all") for (const name of next.keys()) next.set(name, threshold);
    else if (next.has(scope)) next.set(scope, threshold);
  }
  return next;
}

/** Scopes of the reference's libraries; nothing here logs with them. */
const SILENT_SCOPES: readonly string[] = ["klog", "mockcred", "monitoring", "spiffe"];

/** The scopes of such an option that no logger has, each once. */
export function scopesWithoutEffect(option: string): readonly string[] {
  const named = option.split(",").flatMap((item) => (item.includes(":") ? [item.slice(0, item.indexOf(":"))] : []));
  const logging = AGENT_SCOPES.filter((name) => !SILENT_SCOPES.includes(name));
  const known = new Set<string>([...logging, ...SERVER_SCOPES, "all"]);
  return [...new Set(named)].filter((name) => !known.has(name));
}

export function scopesAt(threshold: LogThreshold): ScopeLevels {
  return new Map([...AGENT_SCOPES, ...SERVER_SCOPES].map((name) => [name, threshold]));
}
