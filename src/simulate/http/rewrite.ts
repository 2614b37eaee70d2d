import type { HeaderValueOption } from "../../protobuf/gen/envoy/config/core/v3.ts";
import type { RedirectAction, Route, RouteAction, RouteMatch } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { HttpRequest } from "../connection/connection.ts";
import type { HeaderMap } from "../match/headers.ts";
import { withoutQuery } from "../match/path.ts";
import { substitute } from "../match/regex.ts";

interface HeaderChanges {
  readonly requestHeadersToAdd?: readonly HeaderValueOption[] | undefined;
  readonly requestHeadersToRemove?: readonly string[] | undefined;
}

/** The request as it is sent on, with what was changed in words. The levels are the most specific first. */
export function rewriteRequest(
  request: HttpRequest,
  route: Route,
  levels: readonly HeaderChanges[],
  hostRewrite: string | undefined,
): { readonly request: HttpRequest; readonly changes: readonly string[] } {
  const action = route.route ?? {};
  const before = request.headers;
  const headers: Record<string, string> = { ...before };
  for (const level of levels) changeHeaders(headers, level);
  headers[":path"] = rewritePath(before[":path"] ?? "/", action, route.match ?? {});
  headers[":authority"] = rewriteHost(headers, action, hostRewrite);
  const changes = [...new Set([...Object.keys(before), ...Object.keys(headers)])].flatMap((name) => {
    if (before[name] === headers[name]) return [];
    return [headers[name] === undefined ? `${name} removed` : `${name} is ${JSON.stringify(headers[name])}`];
  });
  return { request: { headers }, changes };
}

function changeHeaders(
  headers: Record<string, string>,
  { requestHeadersToAdd, requestHeadersToRemove }: HeaderChanges,
): void {
  for (const { header, appendAction = "APPEND_IF_EXISTS_OR_ADD" } of requestHeadersToAdd ?? []) {
    const name = (header?.key ?? "").toLowerCase();
    const value = (header?.value ?? "").replaceAll("%%", "%");
    const existing = headers[name];
    if (existing === undefined) {
      if (appendAction !== "OVERWRITE_IF_EXISTS") headers[name] = value;
    } else if (appendAction === "APPEND_IF_EXISTS_OR_ADD") headers[name] = `${existing},${value}`;
    else if (appendAction !== "ADD_IF_ABSENT") headers[name] = value;
  }
  for (const name of requestHeadersToRemove ?? []) delete headers[name.toLowerCase()];
}

function rewriteHost(headers: HeaderMap, action: RouteAction, literal: string | undefined): string {
  const asked = headers[":authority"] ?? "";
  if (literal !== undefined) return literal;
  if (action.hostRewriteLiteral !== undefined) return action.hostRewriteLiteral;
  return (action.hostRewriteHeader !== undefined && headers[action.hostRewriteHeader.toLowerCase()]) || asked;
}

type PathRewrite = Pick<RouteAction, "prefixRewrite" | "regexRewrite">;

/** The query stays as it is. */
function rewritePath(path: string, { prefixRewrite, regexRewrite }: PathRewrite, match: RouteMatch): string {
  const plain = withoutQuery(path);
  const query = path.slice(plain.length);
  if (regexRewrite !== undefined) {
    const { pattern, substitution = "" } = regexRewrite;
    return `${substitute(pattern?.regex ?? "", substitution, plain) ?? plain}${query}`;
  }
  if (prefixRewrite === undefined) return path;
  const matched = match.prefix ?? match.pathSeparatedPrefix ?? plain;
  return `${prefixRewrite}${plain.slice(matched.length)}${query}`;
}

const REDIRECT_CODES = {
  MOVED_PERMANENTLY: 301,
  FOUND: 302,
  SEE_OTHER: 303,
  TEMPORARY_REDIRECT: 307,
  PERMANENT_REDIRECT: 308,
} as const;

export function redirectOf(
  redirect: RedirectAction,
  match: RouteMatch,
  headers: HeaderMap,
  isTls: boolean,
): { readonly status: number; readonly location: string } {
  const scheme = redirect.schemeRedirect ?? (redirect.httpsRedirect === true ? "https" : isTls ? "https" : "http");
  const host = redirect.hostRedirect ?? headers[":authority"] ?? "";
  const isDefault = redirect.portRedirect === (scheme === "https" ? 443 : 80);
  const named = redirect.portRedirect === undefined ? host : host.replace(/:\d+$/, "");
  const port = redirect.portRedirect === undefined || isDefault ? "" : `:${redirect.portRedirect}`;
  const asked = headers[":path"] ?? "/";
  const rewritten = redirect.pathRedirect || rewritePath(asked, redirect, match);
  const path = redirect.stripQuery === true ? withoutQuery(rewritten) : rewritten;
  return {
    status: REDIRECT_CODES[redirect.responseCode ?? "MOVED_PERMANENTLY"],
    location: `${scheme}://${named}${port}${path}`,
  };
}
