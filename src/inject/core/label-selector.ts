import { isJsonObject } from "../../base/json-object.ts";
import { asList, asObject, asText, textMap } from "./json.ts";

/** A Kubernetes label selector as it stands in a document. */
export type LabelSelector = Readonly<Record<string, unknown>>;

/** Whether labels match; an empty selector matches nothing here. Text instead of an answer says why the selector is unusable. */
export function matchesSelector(selector: unknown, labels: Readonly<Record<string, string>>): boolean | string {
  if (!isJsonObject(selector)) return `selector is ${JSON.stringify(selector)}, allowed is an object`;
  const wanted = Object.entries(textMap(selector.matchLabels));
  const expressions = asList(selector.matchExpressions).map(asObject);
  if (wanted.length === 0 && expressions.length === 0) return false;
  if (!wanted.every(([key, value]) => labels[key] === value)) {
    return expressions.map(problem).find((text) => text !== undefined) ?? false;
  }
  for (const expression of expressions) {
    const wrong = problem(expression);
    if (wrong !== undefined) return wrong;
  }
  return expressions.every((expression) => matchesExpression(expression, labels));
}

function problem({ key, operator, values }: Readonly<Record<string, unknown>>): string | undefined {
  if (asText(key) === "") return "an expression has no key";
  const count = asList(values).length;
  switch (operator) {
    case "In":
    case "NotIn":
      return count === 0 ? `values of ${operator} for ${asText(key)} must not be empty` : undefined;
    case "Exists":
    case "DoesNotExist":
      return count > 0 ? `values of ${operator} for ${asText(key)} must be empty` : undefined;
    default:
      return `operator is ${JSON.stringify(operator)}, allowed are In, NotIn, Exists, DoesNotExist`;
  }
}

function matchesExpression(
  { key, operator, values }: Readonly<Record<string, unknown>>,
  labels: Readonly<Record<string, string>>,
): boolean {
  const name = asText(key);
  const has = Object.hasOwn(labels, name);
  if (operator === "Exists") return has;
  if (operator === "DoesNotExist") return !has;
  const isListed = has && asList(values).includes(labels[name]);
  return operator === "In" ? isListed : !isListed;
}
