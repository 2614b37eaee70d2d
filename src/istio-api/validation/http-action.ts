import type { HttpDirectResponse, HttpRedirect, HttpRewrite } from "../specs.ts";
import { headerTextReason } from "./headers.ts";
import { regexReason } from "./regex.ts";
import type { Report } from "./report.ts";
import { optionalPortReason } from "./values.ts";

/** Envoy knows no others; another one would leave the route without action and lose the whole route configuration. */
const REDIRECT_CODES = [0, 301, 302, 303, 307, 308];
const MAX_BODY_BYTES = 1024 * 1024;

export function validateRedirect(report: Report, redirect: HttpRedirect): void {
  const { uri, prefixRewrite, authority, scheme, port, derivePort, redirectCode } = redirect;
  if (
    uri === "" &&
    prefixRewrite === "" &&
    authority === "" &&
    scheme === "" &&
    port === undefined &&
    derivePort === undefined
  ) {
    report.error("redirect must specify URI, authority, scheme, or port");
  }
  if (redirectCode !== 0 && (redirectCode < 300 || redirectCode > 399)) {
    report.error(`${redirectCode} is not a valid redirect code, must be 3xx`, "redirectCode");
  } else if (!REDIRECT_CODES.includes(redirectCode)) {
    report.error(`${redirectCode} is not a supported redirect code; allowed: 301, 302, 303, 307, 308`, "redirectCode");
  }
  if (scheme !== "" && scheme !== "http" && scheme !== "https") {
    report.error(`invalid redirect scheme ${JSON.stringify(scheme)}, must be "http" or "https"`, "scheme");
  }
  if (port !== undefined) report.error(optionalPortReason(port), "port");
  if (uri !== "" && prefixRewrite !== "") report.error("redirect cannot contain both uri and prefixRewrite", "uri");
  report.error(headerTextReason(uri), "uri");
  report.error(headerTextReason(prefixRewrite), "prefixRewrite");
  report.error(headerTextReason(authority), "authority");
}

export function validateDirectResponse(report: Report, { status, body }: HttpDirectResponse): void {
  report.error(statusReason(status), "status");
  const size =
    body?.bytes === undefined ? Buffer.byteLength(body?.string ?? "") : Buffer.from(body.bytes, "base64").length;
  if (size > MAX_BODY_BYTES) report.error(`body of ${size} bytes is too large, at most ${MAX_BODY_BYTES}`, "body");
}

export function statusReason(status: number): string | undefined {
  return status >= 200 && status <= 599 ? undefined : `HTTP status ${status} is not in range 200-599`;
}

export function validateRewrite(report: Report, { uri, authority, uriRegexRewrite }: HttpRewrite): void {
  const isEmpty = uri === "" && authority === "" && uriRegexRewrite === undefined;
  if (isEmpty || (uri !== "" && uriRegexRewrite !== undefined)) {
    report.error(
      "rewrite must specify at least one of URI, UriRegexRewrite, or authority. Only one of URI or UriRegexRewrite may be specified",
    );
  }
  report.error(headerTextReason(uri), "uri");
  report.error(headerTextReason(authority), "authority");
  if (uriRegexRewrite === undefined) return;
  report.error(headerTextReason(uriRegexRewrite.rewrite), "uriRegexRewrite", "rewrite");
  if (uriRegexRewrite.match === "" || uriRegexRewrite.rewrite === "") {
    report.error("UriRegexRewrite requires both Rewrite and Match fields to be specified", "uriRegexRewrite");
  }
  report.error(regexReason("uriRegexRewrite", uriRegexRewrite.match), "uriRegexRewrite", "match");
}
