import type { CommandDoc } from "./command-docs.ts";
import { formatFlagValue } from "./flag-values.ts";
import type { FlagSpec } from "./flags.ts";
import { flagUsages } from "./help-text.ts";

/** One page of Markdown per command. */
export function markdownPage(doc: CommandDoc): string {
  const parts = [`## ${doc.path}`, doc.short, "### Synopsis", doc.long];
  if (doc.usage !== doc.path) parts.push(fence(doc.usage));
  if (doc.example !== "") parts.push("### Examples", fence(doc.example));
  parts.push("### Options", fence(flagUsages(doc.flags)));
  if (doc.globalFlags.length > 0)
    parts.push("### Options inherited from parent commands", fence(flagUsages(doc.globalFlags)));
  if (doc.related.length > 0) {
    const links = doc.related.map(({ path, short }) => `* [${path}](${pageName(path)}.md)\t - ${short}`);
    parts.push("### SEE ALSO", links.join("\n"));
  }
  return `${parts.join("\n\n")}\n`;
}

export function yamlPage(doc: CommandDoc): string {
  const lines = [
    `name: ${quote(doc.path)}`,
    `synopsis: ${quote(doc.short)}`,
    `description: ${quote(doc.long)}`,
    `usage: ${quote(doc.usage)}`,
  ];
  if (doc.example !== "") lines.push(`example: ${quote(doc.example)}`);
  lines.push("options:", ...doc.flags.flatMap(yamlFlag));
  if (doc.globalFlags.length > 0) lines.push("inherited_options:", ...doc.globalFlags.flatMap(yamlFlag));
  if (doc.related.length > 0)
    lines.push("see_also:", ...doc.related.map(({ path, short }) => `  - ${quote(`${path} - ${short}`)}`));
  return `${lines.join("\n")}\n`;
}

/** Section 1 of the manual, in man's own macro language. */
export function manPage(doc: CommandDoc): string {
  const name = pageName(doc.path).replaceAll("_", "-");
  const lines = [
    `.TH ${JSON.stringify(name.toUpperCase())} "1" "" "pilot-agent" ""`,
    ".SH NAME",
    `${roff(name)} \\- ${roff(doc.short)}`,
    ".SH SYNOPSIS",
    `.B ${roff(doc.usage)}`,
    ".SH DESCRIPTION",
    roffText(doc.long),
    ".SH OPTIONS",
    ...doc.flags.flatMap(manFlag),
  ];
  if (doc.globalFlags.length > 0)
    lines.push(".SH OPTIONS INHERITED FROM PARENT COMMANDS", ...doc.globalFlags.flatMap(manFlag));
  if (doc.example !== "") lines.push(".SH EXAMPLE", ".nf", roffText(doc.example), ".fi");
  if (doc.related.length > 0) {
    lines.push(
      ".SH SEE ALSO",
      doc.related.map(({ path }) => `.BR ${roff(pageName(path).replaceAll("_", "-"))} (1)`).join("\n"),
    );
  }
  return `${lines.join("\n")}\n`;
}

/** `pilot-agent completion bash` is the page pilot-agent_completion_bash. */
export function pageName(path: string): string {
  return path.replaceAll(" ", "_");
}

function yamlFlag(spec: FlagSpec): string[] {
  const lines = [`  - name: ${quote(spec.name)}`];
  if (spec.short !== undefined) lines.push(`    shorthand: ${quote(spec.short)}`);
  lines.push(`    default_value: ${quote(formatFlagValue(spec.default))}`, `    usage: ${quote(spec.usage)}`);
  return lines;
}

function manFlag(spec: FlagSpec): string[] {
  const short = spec.short === undefined ? "" : `-${spec.short}, `;
  const value =
    spec.type === "bool" ? `[=${formatFlagValue(spec.default)}]` : `=${JSON.stringify(formatFlagValue(spec.default))}`;
  return [".TP", `\\fB${roff(`${short}--${spec.name}`)}\\fP${roff(value)}`, roffText(spec.usage)];
}

/** Hyphens that are meant, and no line that man would take for a request. */
function roff(text: string): string {
  return text.replaceAll("\\", "\\e").replaceAll("-", "\\-");
}

function roffText(text: string): string {
  return text
    .split("\n")
    .map((line) => roff(line).replace(/^(?=[.'])/, "\\&"))
    .join("\n");
}

/** JSON's double-quoted strings are YAML's. */
function quote(text: string): string {
  return JSON.stringify(text);
}

function fence(text: string): string {
  return `\`\`\`\n${text}\n\`\`\``;
}
