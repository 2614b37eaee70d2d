/** What Envoy takes as a segment of a template besides its operators. */
const LITERAL = "[A-Za-z0-9\\-._~%!$&'()+,;:@=]";
const SEGMENT = new RegExp(`^(${LITERAL}+|\\{\\*\\}|\\{\\*\\*\\}${LITERAL}*)$`);

export function isPathTemplate(path: string): boolean {
  return path.includes("{*}") || path.includes("{**}");
}

/**
 * `/a/{*}/{**}` as Envoy spells it, with bare stars. Undefined for what Envoy would refuse together with the whole listener: operators that
 * are part of a segment, and any after `{**}`.
 */
export function parsePathTemplate(path: string): string | undefined {
  const [empty, ...segments] = path.split("/");
  if (empty !== "" || !segments.every((segment) => SEGMENT.test(segment))) return undefined;
  const open = segments.findIndex((segment) => segment.startsWith("{**}"));
  const isLast = open === -1 || !segments.slice(open + 1).some((segment) => segment.startsWith("{"));
  return isLast ? path.replaceAll("{*}", "*").replaceAll("{**}", "**") : undefined;
}
