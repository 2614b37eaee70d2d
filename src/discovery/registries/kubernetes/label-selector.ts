import { fields, labelsOf, listOf, textOf, texts } from "./kubernetes-object.ts";

type Labels = Readonly<Record<string, string>>;

/**
 * Tells which namespaces the mesh looks at, from the mesh config's `discoverySelectors`: those whose labels some selector matches, all
 * when there are no selectors.
 */
export function createNamespaceFilter(discoverySelectors: unknown): (labels: Labels) => boolean {
  const selectors = listOf(discoverySelectors);
  return (labels) => selectors.length === 0 || selectors.some((selector) => matchesLabels(selector, labels));
}

/** Kubernetes' label selectors: all of `matchLabels` and all of `matchExpressions`. An empty one matches everything. */
function matchesLabels({ matchLabels, matchExpressions }: Readonly<Record<string, unknown>>, labels: Labels): boolean {
  return (
    Object.entries(labelsOf(matchLabels)).every(([name, value]) => labelOf(labels, name) === value) &&
    listOf(matchExpressions).every((expression) => matchesExpression(fields(expression), labels))
  );
}

function matchesExpression({ key, operator, values }: Readonly<Record<string, unknown>>, labels: Labels): boolean {
  const value = labelOf(labels, textOf(key));
  const isListed = value !== undefined && texts(values).includes(value);
  switch (operator) {
    case "In":
      return isListed;
    case "NotIn":
      return !isListed;
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}

function labelOf(labels: Labels, name: string): string | undefined {
  return Object.hasOwn(labels, name) ? labels[name] : undefined;
}
