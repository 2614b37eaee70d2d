import type { MeshSettings } from "../../mesh-model/mesh-settings.ts";

/** Names the mesh's own trust domain in rules, whatever it is called. */
const LOCAL = "cluster.local";

/** A principal in every trust domain that it stands for: one of the mesh's own stands for all of them. */
export function spellPrincipals(
  principals: readonly string[],
  { trustDomain, trustDomainAliases }: Pick<MeshSettings, "trustDomain" | "trustDomainAliases">,
): readonly string[] {
  const own = [trustDomain, ...trustDomainAliases];
  const spelled = principals.flatMap((principal) => {
    const slash = principal.indexOf("/");
    const domain = principal.slice(0, Math.max(slash, 0));
    if (domain !== LOCAL && !own.includes(domain)) return [principal];
    return own.map((name) => name + principal.slice(slash));
  });
  return [...new Set(spelled)];
}
