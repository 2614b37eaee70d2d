import { KINDS, type Kind } from "../../../src/istio-api/kinds.ts";
import type { Manifest } from "./apply-objects.ts";

/** Definitions of all kinds of rules, every version served and any content allowed: validation is the control plane's. */
export function ruleDefinitions(kinds = Object.keys(KINDS) as readonly Kind[]): readonly Manifest[] {
  return kinds.map((kind) => {
    const { group, versions } = KINDS[kind];
    const plural = pluralOf(kind);
    return {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
        versions: versions.map((name, at) => ({
          name,
          served: true,
          storage: at === 0,
          schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
          subresources: { status: {} },
        })),
      },
    };
  });
}

export function pluralOf(kind: Kind): string {
  const word = kind.toLowerCase();
  if (word.endsWith("y") && !word.endsWith("ay")) return `${word.slice(0, -1)}ies`;
  return word.endsWith("s") ? word : `${word}s`;
}
