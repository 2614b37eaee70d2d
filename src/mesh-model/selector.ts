import { fields, labelsOf, listOf, textOf, texts } from "./kubernetes-object.ts";

type Labels = Readonly<Record<string, string>>;

/** An empty selector selects everything. */
export function selects(selector: Labels, labels: Labels): boolean {
  return Object.entries(selector).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

/** Kubernetes' label selectors: all of `matchLabels` and all of `matchExpressions`. An empty one, or none, matches everything. */
export function matchesLabelSelector(selector: unknown, labels: Labels): boolean {
  const { matchLabels, matchExpressions } = fields(selector);
  return (
    selects(labelsOf(matchLabels), labels) &&
    listOf(matchExpressions).every((expression) => matchesExpression(expression, labels))
  );
}

function matchesExpression({ key, operator, values }: Readonly<Record<string, unknown>>, labels: Labels): boolean {
  const name = textOf(key);
  const value = Object.hasOwn(labels, name) ? labels[name] : undefined;
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
