import type { ExplainedProblem, ExplainedResource, Explanation, ResourceChange } from "../../explain/index.ts";
import { printYaml } from "../../files/yaml/print-yaml.ts";
import { originText } from "./mesh-of-objects.ts";

export type ExplainFormat = "text" | "json" | "yaml";

function shown(value: unknown, format: Exclude<ExplainFormat, "text">): string {
  return format === "yaml" ? printYaml(value) : `${JSON.stringify(value, undefined, 2)}\n`;
}

/** What is sent, by type and name. */
export function listText(
  resources: readonly ExplainedResource[],
  problems: readonly ExplainedProblem[],
  format: ExplainFormat,
): string {
  const rows = resources.map(({ type, name, version }) => ({ type, name, version }));
  if (format !== "text") return shown({ resources: rows, problems: problems.map(problemText) }, format);
  const lines = rows.map(({ type, name }) => `${type.toUpperCase()}  ${titleOf(name)}`);
  return `${[...lines, ...problems.map((problem) => `!    ${problemText(problem)}`)].join("\n")}\n`;
}

/** `web.prod.svc.cluster.local: the reason (left out), of Service prod/web (mesh.yaml:12)`. */
function problemText({ text, origin }: ExplainedProblem): string {
  return origin === undefined ? text : `${text}, of ${originText(origin)}`;
}

export function wholeText(resources: readonly ExplainedResource[], format: ExplainFormat): string {
  const values = resources.map(({ value }) => value);
  return shown(values.length === 1 ? values[0] : values, format === "text" ? "json" : format);
}

/** Resources and their parts with the objects that they come from. */
export function whyText(explanations: readonly Explanation[], format: ExplainFormat): string {
  if (format !== "text") return shown(explanations, format);
  const lines = explanations.flatMap(({ type, name, origins, parts, notTried = [] }) => [
    `${type.toUpperCase()}  ${titleOf(name)}`,
    ...origins.map((origin) => `     from ${originText(origin)}`),
    ...parts.flatMap((part) => [
      `  ${part.kind} ${part.name}`,
      ...part.origins.map((origin) => `     from ${originText(origin)}`),
      ...(part.origins.length === 0 ? ["     from no object: the mesh's settings"] : []),
    ]),
    ...(origins.length + parts.length === 0 ? ["     from no object: the mesh's settings"] : []),
    ...(notTried.length === 0
      ? []
      : [`  ! not all were tried out of ${notTried.join(", ")}: those are named that apply by hosts and selectors`]),
  ]);
  return `${lines.join("\n")}\n`;
}

export interface ProxyChanges {
  readonly proxy: string;
  readonly changes: readonly ResourceChange[];
}

const MARKS = { added: "+", removed: "-", changed: "~" } as const;

/** What a change of objects would do, proxy by proxy. */
export function changesText(all: readonly ProxyChanges[], format: ExplainFormat): string {
  if (format !== "text") return shown(all, format);
  const touched = all.filter(({ changes }) => changes.length > 0);
  const blocks = touched.map(({ proxy, changes }) => {
    const lines = changes.flatMap(({ type, name, change, members }) => [
      `  ${MARKS[change]} ${type.toUpperCase()} ${titleOf(name)}`,
      ...members.map((line) => `      ${line}`),
    ]);
    return `${proxy}\n${lines.join("\n")}\n`;
  });
  const proxies = all.length === 1 ? "proxy" : "proxies";
  return `${blocks.join("")}${touched.length} of ${all.length} ${proxies} would be sent something.\n`;
}

function titleOf(name: string): string {
  return name === "" ? "(the table)" : name;
}
