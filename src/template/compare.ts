import { compareText } from "../base/go-text.ts";
import { formatValue } from "./format-value.ts";
import { TemplateFunctionError } from "./template-error.ts";
import type { GoKind } from "./values.ts";
import { kindOf, toNumber, typeName } from "./values.ts";

const ABSENT: ReadonlySet<GoKind> = new Set(["invalid", "nil"]);
const BASIC: ReadonlySet<GoKind> = new Set(["bool", "int", "float", "string"]);

/** Go's `eq` of two values: basic kinds by value, nil only with nil; different basic kinds are a mistake. */
export function equals(left: unknown, right: unknown): boolean {
  const [a, b] = [kindOf(left), kindOf(right)];
  if (ABSENT.has(a) || ABSENT.has(b)) return ABSENT.has(a) && ABSENT.has(b);
  if (isNumber(a) && isNumber(b)) return toNumber(left) === toNumber(right);
  if (a !== b && (BASIC.has(a) || BASIC.has(b))) throw incompatible(left, right);
  const incomparable = [left, right].find((value) => kindOf(value) === "list" || kindOf(value) === "map");
  if (incomparable !== undefined) {
    throw new TemplateFunctionError(`non-comparable type ${formatValue(incomparable)}: ${typeName(incomparable)}`);
  }
  return left === right;
}

/** Go's `lt`. */
export function isLess(left: unknown, right: unknown): boolean {
  const [a, b] = [kindOf(left), kindOf(right)];
  if (isNumber(a) && isNumber(b)) {
    return typeof left === "bigint" && typeof right === "bigint" ? left < right : toNumber(left) < toNumber(right);
  }
  if (a !== b && BASIC.has(a) && BASIC.has(b)) throw incompatible(left, right);
  if (a !== "string" || b !== "string") throw new TemplateFunctionError("invalid type for comparison");
  return compareText(left as string, right as string) < 0;
}

/** A JavaScript number does not say whether it was written as 1 or 1.0, so the two compare, more leniently than in Go. */
function isNumber(kind: GoKind): boolean {
  return kind === "int" || kind === "float";
}

function incompatible(left: unknown, right: unknown): TemplateFunctionError {
  return new TemplateFunctionError(`incompatible types for comparison: ${typeName(left)} and ${typeName(right)}`);
}
