import { ENVIRONMENT } from "./environment-table.ts";
import type { EnvironmentVariable } from "./environment-variable.ts";
import { GENERATIONS, type Generation } from "./environment-variable.ts";

/** docs/environment.md: every row of the environment table, grouped by the component that uses it. */
export function environmentReference(table: readonly EnvironmentVariable[] = ENVIRONMENT): string {
  const components = [...new Set(table.map((variable) => variable.component))];
  const sections = components.map((component) =>
    section(
      component,
      table.filter((variable) => variable.component === component),
    ),
  );
  return `${[...INTRODUCTION, ...sections].join("\n\n")}\n`;
}

const INTRODUCTION = [
  "# Environment variables",
  "<!-- Generated from src/settings/environment-table.ts by scripts/generate-env-reference.mjs; edit the table instead. -->",
  "Booleans are `1 t T TRUE true True 0 f F FALSE false False`, integers are decimal, durations are in Go syntax (`300ms`, `1h30m`). " +
    "A boolean, number or duration that does not parse, the empty text included, warns and takes the default. " +
    "An empty string is a value; only an absent one takes the default. " +
    "A variable has no effect in generations that its row does not name.",
];

/** Grouped as the slices are, so that a reader of one component's code finds its variables together. */
function section(component: string, variables: readonly EnvironmentVariable[]): string {
  const rows = variables.map((variable) => `| ${cells(variable).join(" | ")} |`);
  return [
    `## ${component}`,
    "",
    "| name | type | default | generations | effect |",
    "|---|---|---|---|---|",
    ...rows,
  ].join("\n");
}

function cells(variable: EnvironmentVariable): readonly string[] {
  const effect = variable.own === true ? `${variable.effect} Not known to the reference.` : variable.effect;
  return [
    code(variable.name),
    variable.type,
    defaults(variable),
    generations(variable.generations),
    effect.replaceAll("|", "\\|"),
  ];
}

/** The usual default first, then the generations that differ. */
function defaults({ default: usual, defaults: others = {} }: EnvironmentVariable): string {
  const exceptions = Object.entries(others).map(([generation, value]) => `${show(value)} (${generation})`);
  return [show(usual), ...exceptions].join(", ");
}

function show(value: EnvironmentVariable["default"]): string {
  return value === "" ? "empty" : code(String(value));
}

function generations(names: readonly Generation[]): string {
  return names.length === GENERATIONS.length ? "all" : names.join(", ");
}

function code(text: string): string {
  return `\`${text}\``;
}
