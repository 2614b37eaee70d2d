import type { RouteMatch } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { HttpConnectionManager } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import { matchesWhole } from "./regex.ts";

export function withoutQuery(path: string): string {
  return path.replace(/[?#].*$/s, "");
}

/** Routes look at the path alone, never at the query. */
export function matchesPath(match: RouteMatch, path: string): boolean {
  const fold = (text: string) => (match.caseSensitive === false ? text.toLowerCase() : text);
  const seen = withoutQuery(path);
  if (match.path !== undefined) return fold(seen) === fold(match.path);
  if (match.prefix !== undefined) return fold(seen).startsWith(fold(match.prefix));
  if (match.pathSeparatedPrefix !== undefined) {
    const prefix = fold(match.pathSeparatedPrefix);
    return fold(seen) === prefix || fold(seen).startsWith(`${prefix}/`);
  }
  if (match.safeRegex !== undefined) return matchesWhole(match.safeRegex.regex ?? "", seen) === true;
  const template = match.pathMatchPolicy?.typedConfig?.pathTemplate;
  return typeof template === "string" && matchesTemplate(template, seen);
}

/** `/of/*\/x` and `/of/{name=**}`: one star is one segment, two are any number of them. */
export function matchesTemplate(template: string, path: string): boolean {
  const stars = template.replaceAll(/\{[^=}]*(?:=([^}]*))?\}/g, (_, pattern: string | undefined) => pattern ?? "*");
  const expression = stars
    .split(/(\*\*|\*)/)
    .map((part) => {
      if (part === "**") return ".*";
      return part === "*" ? "[^/]+" : part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&");
    })
    .join("");
  return new RegExp(`^${expression}$`).test(withoutQuery(path));
}

type PathRules = Pick<HttpConnectionManager, "normalizePath" | "mergeSlashes" | "pathWithEscapedSlashesAction">;

/** What becomes of a path before any filter sees it: a path, or how the request is answered. */
export function normalizedPath(
  path: string,
  rules: PathRules,
): string | { readonly status: number; readonly location?: string } {
  const [plain, query] = [withoutQuery(path), path.slice(withoutQuery(path).length)];
  const escaped = /%2f|%5c/i.test(plain);
  const action = rules.pathWithEscapedSlashesAction ?? "KEEP_UNCHANGED";
  if (escaped && action === "REJECT_REQUEST") return { status: 400 };
  const unescapes = escaped && (action === "UNESCAPE_AND_REDIRECT" || action === "UNESCAPE_AND_FORWARD");
  const unescaped = unescapes ? plain.replaceAll(/%2f/gi, "/").replaceAll(/%5c/gi, "\\") : plain;
  if (unescapes && action === "UNESCAPE_AND_REDIRECT") return { status: 307, location: `${unescaped}${query}` };
  const dotless = rules.normalizePath === true ? withoutDots(unescaped) : unescaped;
  const merged = rules.mergeSlashes === true ? dotless.replaceAll(/\/{2,}/g, "/") : dotless;
  return `${merged}${query}`;
}

/** RFC 3986, 5.2.4, with backslashes as slashes and escaped dots as dots. */
function withoutDots(path: string): string {
  const segments = path.replaceAll("\\", "/").split("/").slice(1);
  const kept: string[] = [];
  for (const [at, segment] of segments.entries()) {
    const name = segment.replaceAll(/%2e/gi, ".");
    const isLast = at === segments.length - 1;
    if (name === "..") kept.pop();
    if (name !== "." && name !== "..") kept.push(name);
    else if (isLast) kept.push("");
  }
  return `/${kept.join("/")}`;
}
