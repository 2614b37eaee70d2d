import { isDnsLabel } from "../values/dns-name.ts";

/** Undefined for a name that Kubernetes would take: lower case letters, digits, hyphens and dots. */
export function nameProblem(name: string): string | undefined {
  if (name === "") return "name is missing";
  if (name.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name)) return undefined;
  return `name ${JSON.stringify(name)} is invalid; allowed: lower case letters, digits, '-' and '.', at most 253`;
}

export function namespaceProblem(namespace: string): string | undefined {
  if (isDnsLabel(namespace) && namespace === namespace.toLowerCase()) return undefined;
  return `namespace ${JSON.stringify(namespace)} is invalid; allowed: lower case letters, digits and '-', at most 63`;
}
