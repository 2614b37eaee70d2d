import { formatDuration, parseDuration } from "../base/duration.ts";
import { parseGoBool, parseGoFloat, parseGoInt } from "../base/parse-go-scalar.ts";
import { jsonSyntaxError } from "../files/json/json-syntax-error.ts";
import { type EnvironmentName, environmentVariable } from "./environment-table.ts";
import type { EnvironmentDefault, Generation } from "./environment-variable.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Typed access to the environment by the table's names. A scalar that does not parse (the empty text included) warns once and takes the
 * default; a present but empty string is "". A variable of another generation counts as absent.
 */
export interface EnvReader {
  string(name: EnvironmentName<"string" | "json">): string;
  bool(name: EnvironmentName<"bool">): boolean;
  int(name: EnvironmentName<"int" | "json-int">): number;
  float(name: EnvironmentName<"float">): number;
  durationMs(name: EnvironmentName<"duration">): number;
  /** Set to any value, and known to the generation. */
  isSet(name: EnvironmentName): boolean;
  /** The generation knows the variable. */
  applies(name: EnvironmentName): boolean;
  /** Variables that start with the prefix, by the rest of their name, in the environment's order. */
  withPrefix(prefix: "CA_HEADER_" | "XDS_HEADER_"): Readonly<Record<string, string>>;
}

export type EnvironmentWarning = (text: string, name: string) => void;

export function createEnvReader(env: Environment, generation: Generation, warn: EnvironmentWarning): EnvReader {
  const warned = new Set<string>();
  // A variable is read by several slices; one line is enough.
  const warnOnce = (name: string, text: string) => {
    if (warned.has(name)) return;
    warned.add(name);
    warn(text, name);
  };
  const applies = (name: EnvironmentName) => environmentVariable(name).generations.includes(generation);
  const raw = (name: EnvironmentName) => (applies(name) ? env[name] : undefined);
  const fallback = (name: EnvironmentName): EnvironmentDefault => {
    const { default: usual, defaults } = environmentVariable(name);
    return defaults?.[generation] ?? usual;
  };
  const scalar = <Value>(
    name: EnvironmentName,
    read: (text: string) => Value | undefined,
    expecting: string,
    usual: Value,
    shown: string,
  ): Value => {
    const text = raw(name);
    if (text === undefined) return usual;
    const value = read(text);
    if (value !== undefined) return value;
    warnOnce(name, `Invalid environment variable value \`${text}\`, expecting ${expecting}, defaulting to ${shown}`);
    return usual;
  };
  const number = (name: EnvironmentName) => Number(fallback(name));

  return {
    applies,
    isSet: (name) => raw(name) !== undefined,
    string: (name) => raw(name) ?? String(fallback(name)),
    bool: (name) => scalar(name, parseGoBool, "true/false", fallback(name) === true, String(fallback(name))),
    float: (name) => scalar(name, parseGoFloat, "a floating-point value", number(name), String(number(name))),
    int: (name) => {
      if (environmentVariable(name).type === "json-int") return readJsonInt(name);
      return scalar(name, parseGoInt, "an integer", number(name), String(number(name)));
    },
    durationMs: (name) => {
      const usual = parseDuration(String(fallback(name)));
      return Number(scalar(name, tryDuration, "a duration", usual, formatDuration(usual))) / 1e6;
    },
    withPrefix: (prefix) => {
      if (!applies(`${prefix}*`)) return Object.freeze({});
      const found = Object.entries(env).filter(([name]) => name.startsWith(prefix));
      return Object.freeze(Object.fromEntries(found.map(([name, value]) => [name.slice(prefix.length), value ?? ""])));
    },
  };

  function readJsonInt(name: EnvironmentName): number {
    const text = raw(name);
    if (text === undefined) return number(name);
    const problem = jsonSyntaxError(text) ?? jsonIntProblem(text);
    if (problem === undefined) return JSON.parse(text) ?? 0;
    warnOnce(name, `Invalid environment variable value \`${text}\` defaulting to ${number(name)}: ${problem}`);
    return number(name);
  }
}

function tryDuration(text: string): bigint | undefined {
  try {
    return parseDuration(text);
  } catch {
    return undefined;
  }
}

function jsonIntProblem(text: string): string | undefined {
  const value: unknown = JSON.parse(text);
  if (value === null) return undefined;
  if (typeof value === "number") {
    return Number.isSafeInteger(value) && /^-?\d+$/.test(text.trim())
      ? undefined
      : `json: cannot unmarshal number ${text.trim()} into Go value of type int64`;
  }
  const kind = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  return `json: cannot unmarshal ${kind} into Go value of type int64`;
}
