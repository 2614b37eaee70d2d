import type { Command } from "./command.ts";
import { formatFlagValue } from "./flag-values.ts";
import type { FlagSpec } from "./flags.ts";

export interface HelpSubject {
  readonly command: Pick<Command, "use" | "short" | "long" | "example" | "flags" | "run">;
  /** Words that lead to the command: `pilot-agent`, or `pilot-agent completion bash`. */
  readonly path: string;
  readonly subcommands: readonly { readonly name: string; readonly short: string; readonly hidden?: boolean }[];
  /** Flags of the root that every command takes; the root itself lists them among its own. */
  readonly globalFlags: readonly FlagSpec[];
}

/** What `--help` prints: the description, then the usage. */
export function helpText(subject: HelpSubject): string {
  return `${(subject.command.long ?? subject.command.short).trim()}\n\n${usageText(subject)}`;
}

export function usageText(subject: HelpSubject): string {
  const { command, path, subcommands, globalFlags } = subject;
  const visible = subcommands.filter((entry) => entry.hidden !== true).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const parent = path.split(" ").slice(0, -1).join(" ");
  let text = "Usage:";
  if (command.run !== undefined) text += `\n  ${parent === "" ? "" : `${parent} `}${command.use} [flags]`;
  if (visible.length > 0) text += `\n  ${path} [command]`;
  if (command.example !== undefined) text += `\n\nExamples:\n${command.example.trimEnd()}`;
  if (visible.length > 0) {
    const width = Math.max(11, ...visible.map((entry) => entry.name.length));
    text += `\n\nAvailable Commands:\n${visible.map((entry) => `  ${entry.name.padEnd(width)} ${entry.short}`).join("\n")}`;
  }
  text += `\n\nFlags:\n${flagUsages(command.flags)}`;
  if (globalFlags.length > 0) text += `\n\nGlobal Flags:\n${flagUsages(globalFlags)}`;
  if (visible.length > 0) text += `\n\nUse "${path} [command] --help" for more information about a command.`;
  return `${text}\n`;
}

/** One line per flag, sorted by name, the texts in one column. */
export function flagUsages(flags: readonly FlagSpec[]): string {
  const rows = flags
    .filter((spec) => spec.hidden !== true)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map((spec) => ({ head: flagHead(spec), text: `${spec.usage}${defaultText(spec)}` }));
  const width = Math.max(...rows.map((row) => row.head.length));
  return rows
    .map((row) => `${row.head.padEnd(width)}   ${row.text.replaceAll("\n", `\n${" ".repeat(width + 3)}`)}`)
    .join("\n");
}

function flagHead(spec: FlagSpec): string {
  const short = spec.short === undefined ? "      " : `  -${spec.short}, `;
  return `${short}--${spec.name}${spec.type === "bool" ? "" : ` ${spec.type}`}`;
}

function defaultText(spec: FlagSpec): string {
  if (spec.default === false || spec.default === 0 || spec.default === "" || spec.default === 0n) return "";
  if (Array.isArray(spec.default) && spec.default.length === 0) return "";
  return spec.type === "string" ? ` (default "${spec.default}")` : ` (default ${formatFlagValue(spec.default)})`;
}
