import { isObject, type Json, list, object } from "./json.ts";

/** RBAC rules with lists of one element replaced by the element, however deep. */
export function projectRbac(config: Json): unknown {
  const { statPrefix: _stat, shadowRulesStatPrefix, ...rest } = config;
  return flatten({ ...rest, ...(rest.shadowRules !== undefined && { shadowRulesStatPrefix }) });
}

const LISTS: Readonly<Record<string, string>> = {
  andRules: "rules",
  orRules: "rules",
  andIds: "ids",
  orIds: "ids",
};

function flatten(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(flatten);
  if (!isObject(value)) return value;
  const [name, ...others] = Object.keys(value);
  const member = LISTS[name ?? ""];
  if (name !== undefined && member !== undefined && others.length === 0) {
    const items = list(object(value[name])[member]);
    if (items.length === 1) return flatten(items[0]);
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, flatten(item)]));
}
