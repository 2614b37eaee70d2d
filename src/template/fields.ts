import { formatValue } from "./format-value.ts";
import type { Meter } from "./limits.ts";
import { TemplateFunctionError } from "./template-error.ts";
import { GoEnum, GoStruct, isMap, kindOf, mapEntries, mapGet, toNumber, typeName } from "./values.ts";

/** `.a.b` of a value. `typed`: Go knows the receiver's own type (a parenthesis' result) instead of `interface {}`; messages show it. */
export function resolveFields(receiver: unknown, names: readonly string[], typed: boolean, meter: Meter): unknown {
  let value = receiver;
  let type = typed ? typeName(value) : "interface {}";
  for (const name of names) {
    meter.spend();
    if (value === undefined) return undefined;
    if (value === null) throw new TemplateFunctionError(`nil pointer evaluating ${type}.${name}`);
    if (value instanceof GoStruct && value.has(name)) {
      value = value.get(name);
      type = typeName(value);
    } else if (isMap(value)) {
      value = mapGet(value, name);
      type = "interface {}";
    } else if (value instanceof GoEnum && name === "String") {
      // The one method of an enum.
      value = value.label;
      type = "string";
    } else {
      throw new TemplateFunctionError(`can't evaluate field ${name} in type ${type}`);
    }
  }
  return value;
}

/** Key and element of each turn of a range. */
export function* rangeElements(value: unknown, meter: Meter): Generator<readonly [unknown, unknown]> {
  const kind = kindOf(value);
  if (kind === "invalid" || kind === "nil") return;
  if (Array.isArray(value)) {
    yield* value.entries();
  } else if (isMap(value)) {
    const entries = mapEntries(value);
    meter.spend(entries.length);
    yield* entries;
  } else if (kind === "int") {
    for (let index = 0; index < toNumber(value); index += 1) yield [index, index];
  } else {
    throw new TemplateFunctionError(`range can't iterate over ${formatValue(value)}`);
  }
}
