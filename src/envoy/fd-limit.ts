import { readFileSync } from "node:fs";
import type { Logger } from "../base/logger.ts";

/** Below this a busy proxy runs out: each proxied connection takes two descriptors. */
const LOW_LIMIT = 65_536;

/** Warns when the soft limit that Envoy inherits is low. Silent where the system does not tell. */
export function warnAboutLowFdLimit(log: Logger, limitsText = readLimits()): void {
  const soft = /^Max open files\s+(\d+|unlimited)\s+(\d+|unlimited)/m.exec(limitsText);
  const limit = soft?.[1];
  if (limit === undefined || limit === "unlimited" || Number(limit) >= LOW_LIMIT) return;
  log.warn("The limit of open files is low for a proxy; connections fail when it is reached", {
    limit: Number(limit),
    hardLimit: soft?.[2],
    recommended: LOW_LIMIT,
  });
}

function readLimits(): string {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    return "";
  }
}
