import { quoteGo } from "../../base/go-quote.ts";
import { isDnsLabel } from "./dns-name.ts";

/** Undefined for DNS labels joined by dots (a trailing dot is allowed, digits alone too), otherwise the reason. */
export function trustDomainProblem(domain: string): string | undefined {
  if (domain === "") return "empty domain name not allowed";
  const labels = domain.split(".");
  if (labels.at(-1) === "") labels.pop();
  return labels.every(isDnsLabel) ? undefined : `trust domain name ${quoteGo(domain)} invalid`;
}
