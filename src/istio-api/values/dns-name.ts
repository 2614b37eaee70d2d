import { quoteGo } from "../../base/go-quote.ts";

/** RFC 1123: letters, digits and inner hyphens. */
const LABEL = /^[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?$/;
/** A star, or a label that may have a star, and a hyphen after it, before it. */
const WILDCARD_LABEL = /^(?:\*|(?:\*-?)?[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?)$/;

export function isDnsLabel(text: string): boolean {
  return text.length <= 63 && LABEL.test(text);
}

/** Undefined for a fully qualified domain name, otherwise what is wrong with it. A trailing dot is allowed. */
export function fqdnProblem(name: string): string | undefined {
  return lengthProblem(name) ?? labelsProblem(name);
}

/** The same with a wildcard in the first label. */
export function wildcardDomainProblem(name: string): string | undefined {
  const tooLong = lengthProblem(name);
  if (tooLong !== undefined) return tooLong;
  const dot = name.indexOf(".");
  const first = dot === -1 ? name : name.slice(0, dot);
  if (first.length > 63 || !WILDCARD_LABEL.test(first))
    return `domain name ${quoteGo(name)} invalid (label ${quoteGo(first)} invalid)`;
  return dot === -1 ? undefined : labelsProblem(name.slice(dot + 1));
}

function lengthProblem(name: string): string | undefined {
  if (name.length > 255) return `domain name ${quoteGo(name)} too long (max 255)`;
  return name === "" ? "empty domain name not allowed" : undefined;
}

/** A last label of digits alone would make the name look like a broken IPv4 address. */
function labelsProblem(name: string): string | undefined {
  const labels = name.split(".");
  const last = labels.at(-1) ?? "";
  if (/^[+-]?\d+$/.test(last)) {
    return `domain name ${quoteGo(name)} invalid (top level domain ${quoteGo(last)} cannot be all-numeric)`;
  }
  const checked = last === "" ? labels.slice(0, -1) : labels;
  const bad = checked.find((label) => !isDnsLabel(label));
  return bad === undefined ? undefined : `domain name ${quoteGo(name)} invalid (label ${quoteGo(bad)} invalid)`;
}

/** Undefined for DNS labels joined by dots (a trailing dot is allowed, digits alone too), otherwise the reason. */
export function trustDomainProblem(domain: string): string | undefined {
  if (domain === "") return "empty domain name not allowed";
  const labels = domain.split(".");
  if (labels.at(-1) === "") labels.pop();
  return labels.every(isDnsLabel) ? undefined : `trust domain name ${quoteGo(domain)} invalid`;
}
