import { formatFloat } from "./format-float.ts";
import { GoEnum, GoStruct, kindOf, lengthOf, mapEntries, typeName } from "./values.ts";

/** Go's `%v`: what an action prints. `nested` values that are nil print `<nil>`. */
export function formatValue(value: unknown, depth = 0): string {
  switch (kindOf(value)) {
    case "invalid":
    case "nil":
      return "<nil>";
    case "string":
      return value as string;
    case "bool":
      return String(value);
    case "int":
      // -0 is the float's business; an int has only one zero.
      return value instanceof GoEnum ? value.label : String(value === 0 ? 0 : value);
    case "float":
      return formatFloat(value as number, "g", -1);
    default:
      return depth > MAX_PRINT_DEPTH ? "..." : formatComposite(value, depth + 1);
  }
}

/** What `{{.x}}` writes: as `%v`, but an absent value says so. */
export function printValue(value: unknown): string {
  return value === undefined || value === null ? "<no value>" : formatValue(value);
}

/** Arguments as fmt.Sprint joins them: a space between two operands when neither is a string. */
export function sprint(args: readonly unknown[]): string {
  let text = "";
  for (const [index, arg] of args.entries()) {
    if (index > 0 && typeof arg !== "string" && typeof args[index - 1] !== "string") text += " ";
    text += formatValue(arg);
  }
  return text;
}

/** Upper bound of what printing takes, without building it: guards against values that multiply. */
export function printedSize(value: unknown, budget: number, depth = 0): number {
  if (typeof value === "string") return value.length;
  if (depth > MAX_PRINT_DEPTH || lengthOf(value) < 0) return 32;
  const members = Array.isArray(value) ? value : mapEntries(value).flat();
  let size = 2;
  for (const member of members) {
    size += 1 + printedSize(member, budget - size, depth + 1);
    if (size > budget) break;
  }
  return size;
}

/** Deeper data cannot come from YAML or JSON of a sane size; a cycle would never end. */
const MAX_PRINT_DEPTH = 64;

function formatComposite(value: unknown, depth: number): string {
  if (value instanceof GoStruct) return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => formatValue(item, depth)).join(" ")}]`;
  if (kindOf(value) === "opaque") return typeName(value);
  const members = mapEntries(value).map(([key, item]) => `${formatValue(key)}:${formatValue(item, depth)}`);
  return `map[${members.join(" ")}]`;
}
