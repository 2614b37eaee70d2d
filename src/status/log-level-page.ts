import { LOG_LEVELS, type LogThreshold } from "../base/logger.ts";
import { errorText, type HttpHandler, json } from "../net/http-server/http-types.ts";

/** What the page needs of the process's log. */
export interface LogLevels {
  levels(): ReadonlyMap<string, LogThreshold>;
  setLevel(scope: string, threshold: LogThreshold): void;
}

/** GET shows the level of every scope; POST or PUT with `?level=scope:level,...` changes some, all of them or none when one is wrong. */
export function logLevelPage(log: LogLevels): HttpHandler {
  return ({ method, query }) => {
    if (method !== "GET" && method !== "HEAD") {
      const changes = parseChanges(query.get("level"), log.levels());
      if ("problem" in changes) return errorText(400, changes.problem);
      for (const [scope, threshold] of changes.items) log.setLevel(scope, threshold);
    }
    return json(Object.fromEntries(log.levels()));
  };
}

type Changes = { readonly items: readonly [string, LogThreshold][] } | { readonly problem: string };

function parseChanges(asked: string | null, known: ReadonlyMap<string, LogThreshold>): Changes {
  if (asked === null || asked === "")
    return { problem: "no level: use ?level=debug, or ?level=scope:level,... (scope all for every one)" };
  const items: [string, LogThreshold][] = [];
  for (const item of asked.split(",")) {
    const parts = item.split(":");
    const [scope = "", level = ""] = parts.length === 1 ? ["default", parts[0]] : parts;
    const threshold = LOG_LEVELS.find((candidate) => candidate === level);
    if (threshold === undefined || parts.length > 2)
      return {
        problem: `level ${JSON.stringify(item)}: allowed are ${LOG_LEVELS.join(", ")}, with a scope and a colon in front`,
      };
    if (scope !== "all" && !known.has(scope))
      return { problem: `no scope named ${JSON.stringify(scope)}; there are: all, ${[...known.keys()].join(", ")}` };
    items.push([scope, threshold]);
  }
  return { items };
}
