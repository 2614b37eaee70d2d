import { selects } from "../mesh-model/selector.ts";
import { fields, labelsOf, list } from "./selectors.ts";

/** Kubernetes' matchLabels and matchExpressions; an absent selector selects everything. */
export function labelSelectorMatches(selector: unknown, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels, matchExpressions } = fields(selector);
  return (
    selects(labelsOf(matchLabels), labels) &&
    list(matchExpressions).every(({ key, operator, values }) => {
      const value = labels[String(key)];
      const named = Array.isArray(values) ? (values as readonly unknown[]) : [];
      if (operator === "In") return value !== undefined && named.includes(value);
      if (operator === "NotIn") return value === undefined || !named.includes(value);
      if (operator === "Exists") return value !== undefined;
      return operator === "DoesNotExist" && value === undefined;
    })
  );
}
