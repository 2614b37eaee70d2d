import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { errorText, type HttpHandler } from "../../net/http-server/http-types.ts";
import type { DebugAnswer } from "./ask-upstream.ts";

export type AskDebug = (typeUrl: string, resourceNames: readonly string[], timeoutMs: number) => Promise<DebugAnswer>;

const TIMEOUT_MS = 5000;
/** Clients that use a proxy have the host in the request line too. */
const ABSOLUTE = /^https?:\/\/[^/?#]*/i;

/** `/debug/...` with an optional `resourceName`, any method, as the control plane's page of the same path. */
export function debugHandler(ask: AskDebug, log: Logger): HttpHandler {
  return async ({ headers, path, target }) => {
    if (/\bh2c\b/i.test(headers.upgrade ?? "")) return errorText(405, "h2c upgrade not allowed");
    if (path === "") return errorText(400, "400 Bad Request");
    if (path !== "/debug" && !path.startsWith("/debug/")) return errorText(404, "404 page not found");
    const [, query] = splitOnce(target, "?");
    const problem = queryProblem(query);
    if (problem !== undefined) return errorText(400, problem);
    const name = new URLSearchParams(query).get("resourceName");
    const typeUrl = `istio.io${path}`;
    const answer = await ask(typeUrl, name === null || name === "" ? [] : [name], TIMEOUT_MS);
    if (answer.outcome === "no-upstream") return errorText(503, "proxy not connected to Istiod");
    if (answer.outcome === "no-answer") {
      log.info(`timed out waiting for Istiod to respond to "${typeUrl}"`, { reason: answer.reason });
      // Who asks from a shell sees this text, not the log: most often the identity may not read debug pages.
      return answer.refusal === undefined ? { status: 504, body: "" } : errorText(504, answer.refusal);
    }
    try {
      // Few pods are ever asked for these pages, and the tables behind them are not small.
      const { responseJson } = await import("./core/response-json.ts");
      const body = `${responseJson(answer.response)}\n`;
      return { status: 200, body, contentType: "application/json" };
    } catch (failure) {
      return errorText(500, errorMessage(failure));
    }
  };
}

/** The target's path with its escapes resolved; empty when one of them is none. */
export function readDebugPath(target: string): string {
  try {
    return decodeURIComponent(splitOnce(target.replace(ABSOLUTE, ""), "?")[0]);
  } catch {
    return "";
  }
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** Go's rules: no semicolons, and every percent sign begins an escape. */
function queryProblem(query: string): string | undefined {
  if (query.includes(";")) return "invalid semicolon separator in query";
  const bad = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(query);
  return bad === null ? undefined : `invalid URL escape ${JSON.stringify(bad[0])}`;
}
