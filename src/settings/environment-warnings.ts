import { createEnvReader, type Environment } from "./env-reader.ts";
import { ENVIRONMENT } from "./environment-table.ts";
import { type EnvironmentVariable, GENERATIONS, type Generation } from "./environment-variable.ts";

/** The warnings every sub-command prints before anything else: all variables but those read at first use. */
export function environmentWarnings(env: Environment): readonly string[] {
  const warnings: string[] = [];
  const chosen = env.PILOT_AGENT_GENERATION;
  // A generation that does not exist is refused where it matters, by `proxy`.
  const generation = GENERATIONS.find((name) => name === chosen) ?? "master";
  const reader = createEnvReader(env, generation, (text) => warnings.push(text));
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

/** Read at first use: its warning follows the logging flags. */
export function isReadLate(name: string): boolean {
  return ENVIRONMENT.some((variable) => variable.name === name && "lazy" in variable && variable.lazy === true);
}
