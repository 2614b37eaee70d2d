import { formatDuration } from "../../base/duration.ts";
import type { FlagSpec, FlagValue, FlagValues } from "./flags.ts";
import { parseFlagValue } from "./parse-flags.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Command line over environment over default. */
export function createFlagValues(
  specs: readonly FlagSpec[],
  set: ReadonlyMap<string, FlagValue>,
  env: Environment,
): FlagValues {
  const values = new Map(
    specs.map((spec) => [spec.name, set.get(spec.name) ?? fromEnvironment(spec, env) ?? spec.default]),
  );
  const get = <Value extends FlagValue>(name: string, is: (value: FlagValue) => value is Value): Value => {
    const value = values.get(name);
    if (value === undefined || !is(value)) throw new TypeError(`flag ${name} is not declared with that type`);
    return value;
  };
  return {
    bool: (name) => get(name, (value): value is boolean => typeof value === "boolean"),
    int: (name) => get(name, (value): value is number => typeof value === "number"),
    string: (name) => get(name, (value): value is string => typeof value === "string"),
    duration: (name) => get(name, (value): value is bigint => typeof value === "bigint"),
    stringArray: (name) => get(name, (value): value is readonly string[] => Array.isArray(value)),
    changed: (name) => set.has(name),
  };
}

/** Environment values that do not parse are passed over, as the reference does for flags. */
function fromEnvironment(spec: FlagSpec, env: Environment): FlagValue | undefined {
  for (const name of spec.env ?? []) {
    const text = env[name];
    if (text === undefined) continue;
    try {
      return parseFlagValue(spec, text);
    } catch {
      // The next name, or the default, stands in.
    }
  }
  return undefined;
}

/** The value as FLAG lines and defaults in help texts show it. */
export function formatFlagValue(value: FlagValue): string {
  if (typeof value === "bigint") return formatDuration(value);
  if (typeof value === "object") return `[${value.map(quoteCsv).join(",")}]`;
  return String(value);
}

function quoteCsv(field: string): string {
  return /[",\r\n]|^\s/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}

export function flagValue(values: FlagValues, spec: FlagSpec): FlagValue {
  switch (spec.type) {
    case "bool":
      return values.bool(spec.name);
    case "string":
      return values.string(spec.name);
    case "duration":
      return values.duration(spec.name);
    case "stringArray":
      return values.stringArray(spec.name);
    default:
      return values.int(spec.name);
  }
}
