import { ruleDefinitions as allDefinitions } from "../../../src/istio-api/definitions/rule-definitions.ts";
import { KINDS, type Kind } from "../../../src/istio-api/kinds.ts";
import type { Manifest } from "./apply-objects.ts";

/** The definitions that are installed with the control plane, of some kinds. */
export function ruleDefinitions(kinds = Object.keys(KINDS) as readonly Kind[]): readonly Manifest[] {
  return kinds.map((kind) => ({ ...definitionOf(kind) }));
}

export function pluralOf(kind: Kind): string {
  return String(definitionOf(kind).spec.names.plural);
}

function definitionOf(kind: Kind) {
  const found = allDefinitions().find(({ spec }) => spec.names.kind === kind);
  if (found === undefined) throw new Error(`there is no definition of ${kind}`);
  return found;
}
