import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import type { DebugAnswer } from "./ask-upstream.ts";
import { responseJson } from "./core/response-json.ts";

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
}

export type AskDebug = (typeUrl: string, resourceNames: readonly string[], timeoutMs: number) => Promise<DebugAnswer>;

const TIMEOUT_MS = 5000;
/** Clients that believe in a proxy name the host in the request line too. */
const ABSOLUTE = /^https?:\/\/[^/?#]*/i;

/** `/debug/...` with an optional `resourceName`, any method, as the control plane's page of the same path. */
export async function answerHttp(target: string, ask: AskDebug, log: Logger): Promise<HttpAnswer> {
  const [escaped = "", query = ""] = splitOnce(target.replace(ABSOLUTE, ""), "?");
  const path = unescaped(escaped);
  if (path === undefined) return { status: 400, body: "400 Bad Request\n" };
  if (path !== "/debug" && !path.startsWith("/debug/")) return { status: 404, body: "404 page not found\n" };
  const problem = queryProblem(query);
  if (problem !== undefined) return { status: 400, body: `${problem}\n` };
  const name = new URLSearchParams(query).get("resourceName");
  const typeUrl = `istio.io${path}`;
  const answer = await ask(typeUrl, name === null || name === "" ? [] : [name], TIMEOUT_MS);
  if (answer.outcome === "no-upstream") return { status: 503, body: "proxy not connected to Istiod\n" };
  if (answer.outcome === "no-answer") {
    log.info(`timed out waiting for Istiod to respond to "${typeUrl}"`, { reason: answer.reason });
    // Who asks from a shell sees this text, not the log: most often the identity may not read debug pages.
    return { status: 504, body: answer.refusal === undefined ? "" : `${answer.refusal}\n` };
  }
  try {
    const body = `${responseJson(answer.response, answer.bytes)}\n`;
    return { status: 200, body, contentType: "application/json" };
  } catch (failure) {
    return { status: 500, body: `${errorMessage(failure)}\n` };
  }
}

function unescaped(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
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
