import type { HeaderOperations, Headers, HttpRewrite } from "../specs.ts";
import type { Report } from "./report.ts";

/** A token of RFC 9110. */
const NAME = /^[-!#$%&'*+.^_`|~A-Za-z0-9]+$/;
const UNSAFE = /[\0\r\n]/;
const AUTHORITY = new Set(["host", ":authority"]);

/** A name to match or to change. `allowsAuthority`: requests may have their authority rewritten this way. */
export function headerNameReason(name: string, allowsAuthority = false): string | undefined {
  if (name === "") return "header name cannot be empty";
  if (NAME.test(name) || (allowsAuthority && name.toLowerCase() === ":authority")) return undefined;
  return `header name ${name} is not a valid header name`;
}

/** Of anything that becomes a header: Envoy would refuse the whole route configuration. */
export function headerTextReason(text: string | undefined): string | undefined {
  if (text === undefined || !UNSAFE.test(text)) return undefined;
  return `${JSON.stringify(text)} holds a line end or a zero byte, which no header can carry`;
}

export function validateHeaders(report: Report, headers: Headers | undefined): void {
  validateOperations(report.at("request"), headers?.request, true);
  validateOperations(report.at("response"), headers?.response, false);
}

function validateOperations(report: Report, operations: HeaderOperations | undefined, isRequest: boolean): void {
  for (const action of ["set", "add"] as const) {
    for (const [name, value] of Object.entries(operations?.[action] ?? {})) {
      report.error(isRequest ? headerNameReason(name, true) : changedNameReason(name), action, name);
      report.error(headerTextReason(value), action, name);
    }
  }
  operations?.remove.forEach((name, index) => {
    report.error(changedNameReason(name), "remove", index);
  });
}

/** The host of a request can be rewritten, and in no other way be changed. */
function changedNameReason(name: string): string | undefined {
  return name.toLowerCase() === "host"
    ? `invalid header ${JSON.stringify(name)}: cannot set Host header`
    : headerNameReason(name);
}

/** The authority may be rewritten once only: by `rewrite`, or by one header of that name. */
export function validateAuthority(
  report: Report,
  rewrite: HttpRewrite | undefined,
  headers: Headers | undefined,
): void {
  const paths = rewrite?.authority === undefined || rewrite.authority === "" ? [] : ["rewrite.authority"];
  for (const action of ["set", "add"] as const) {
    for (const name of Object.keys(headers?.request?.[action] ?? {})) {
      if (AUTHORITY.has(name.toLowerCase())) paths.push(`headers.request.${action}.${name}`);
    }
  }
  if (paths.length > 1) report.error(`authority header cannot be set multiple times: have ${paths.join(", ")}`);
}
