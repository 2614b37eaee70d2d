import { listOf } from "../../../mesh-model/kubernetes-object.ts";
import { matchesLabelSelector } from "../../../mesh-model/selector.ts";

/**
 * Tells which namespaces the mesh looks at, from the mesh config's `discoverySelectors`: those whose labels some selector matches, all
 * when there are no selectors.
 */
export function createNamespaceFilter(
  discoverySelectors: unknown,
): (labels: Readonly<Record<string, string>>) => boolean {
  const selectors = listOf(discoverySelectors);
  return (labels) => selectors.length === 0 || selectors.some((selector) => matchesLabelSelector(selector, labels));
}
