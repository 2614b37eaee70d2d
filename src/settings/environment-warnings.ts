import { suggest } from "../base/suggest.ts";
import { createEnvReader, type Environment } from "./env-reader.ts";
import { ENVIRONMENT } from "./environment-table.ts";
import { type EnvironmentVariable, GENERATIONS, type Generation } from "./environment-variable.ts";

export interface EnvironmentWarning {
  /** As the reference words it, without the variable's name. */
  readonly text: string;
  readonly variable: string;
}

/** The warnings every sub-command prints before anything else: all variables but those read at first use. */
export function environmentWarnings(env: Environment): readonly EnvironmentWarning[] {
  const warnings: EnvironmentWarning[] = [];
  const chosen = env.PILOT_AGENT_GENERATION;
  // A generation that does not exist is refused where it matters, by `proxy`.
  const generation = GENERATIONS.find((name) => name === chosen) ?? "master";
  const reader = createEnvReader(env, generation, (text, variable) => warnings.push({ text, variable }));
  for (const variable of ENVIRONMENT) {
    if (env[variable.name] === undefined || ("lazy" in variable && variable.lazy === true)) continue;
    if (variable.type === "bool") reader.bool(variable.name);
    if (variable.type === "int" || variable.type === "json-int") reader.int(variable.name);
    if (variable.type === "float") reader.float(variable.name);
    if (variable.type === "duration") reader.durationMs(variable.name);
  }
  return warnings;
}

const NO_EFFECT = "No effect: ";

/** A line for each variable that is set and that no generation here gives a meaning, or not this one, with what replaces it. */
export function withoutEffect(env: Environment, generation: Generation): readonly string[] {
  return ENVIRONMENT.filter(({ name }) => (env[name] ?? "") !== "").flatMap((variable: EnvironmentVariable) => {
    const { name, effect, elsewhere, generations } = variable;
    if (effect.startsWith(NO_EFFECT)) return [`${name} has no effect: ${effect.slice(NO_EFFECT.length)}`];
    if (elsewhere === undefined || generations.includes(generation)) return [];
    return [`${name} has no effect in ${generation}: ${elsewhere}`];
  });
}

/** Shorter names are one or two letters away from too many others. */
const MIN_LENGTH = 8;

/** A line for each variable that is set, has no meaning here, and looks like one that has. */
export function nearMisses(env: Environment): readonly string[] {
  const known = new Set<string>(ENVIRONMENT.map(({ name }) => name));
  const long = [...known].filter((name) => name.length >= MIN_LENGTH);
  return Object.keys(env)
    .filter((name) => name.length >= MIN_LENGTH && !known.has(name))
    .flatMap((name) => {
      // PORT_1 and PORT_2 are two names, not one with a mistake; what begins with a known name is one of a family.
      const shape = withoutDigits(name);
      const near = suggest(name, long).find(
        (each) => withoutDigits(each) !== shape && !each.startsWith(name) && !name.startsWith(each),
      );
      return near === undefined ? [] : [`${name} is no variable of pilot-agent; did you mean ${near}?`];
    });
}

function withoutDigits(name: string): string {
  return name.replace(/\d+/g, "");
}

/** Read at first use: its warning follows the logging flags. */
export function isReadLate(name: string): boolean {
  return ENVIRONMENT.some((variable) => variable.name === name && "lazy" in variable && variable.lazy === true);
}
