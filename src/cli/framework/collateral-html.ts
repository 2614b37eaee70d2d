import type { CommandDoc } from "./command-docs.ts";
import { formatFlagValue } from "./flag-values.ts";
import type { FlagSpec } from "./flags.ts";

export interface VariableDoc {
  readonly name: string;
  readonly type: string;
  readonly defaultText: string;
  readonly effect: string;
}

export interface MetricDoc {
  readonly name: string;
  readonly type: string;
  readonly help: string;
}

/** One fragment for a documentation site: front matter, every command, the environment variables, the exported metrics. */
export function htmlFragment(
  docs: readonly CommandDoc[],
  variables: readonly VariableDoc[],
  metrics: readonly MetricDoc[],
): string {
  const root = docs[0];
  const entries = docs.length + (variables.length > 0 ? 1 : 0) + (metrics.length > 0 ? 1 : 0);
  const parts = [
    "---",
    `title: ${root?.path ?? ""}`,
    `description: ${root?.short ?? ""}`,
    "generator: pkg-collateral-docs",
    `number_of_entries: ${entries}`,
    "---",
    ...docs.map(commandSection),
  ];
  if (variables.length > 0) {
    const rows = variables.map((row) => cells(code(row.name), row.type, code(row.defaultText), escapeHtml(row.effect)));
    parts.push(
      section(
        "Environment variables",
        "envvars",
        table(["Variable Name", "Type", "Default Value", "Description"], rows),
      ),
    );
  }
  if (metrics.length > 0) {
    const rows = metrics.map((row) => cells(code(row.name), code(row.type), escapeHtml(row.help)));
    parts.push(section("Exported metrics", "metrics", table(["Metric Name", "Type", "Description"], rows)));
  }
  return `${parts.join("\n")}\n`;
}

function commandSection(doc: CommandDoc): string {
  const body = [
    `<p>${escapeHtml(doc.long)}</p>`,
    `<pre class="language-bash"><code>${escapeHtml(doc.usage)}\n</code></pre>`,
  ];
  const rows = [...doc.flags, ...doc.globalFlags].map(flagRow);
  body.push(table(["Flags", "Shorthand", "Description"], rows));
  if (doc.example !== "")
    body.push(`<h3>Examples</h3>`, `<pre class="language-bash"><code>${escapeHtml(doc.example)}\n</code></pre>`);
  return section(doc.path, doc.path.replaceAll(" ", "-"), body.join("\n"));
}

function flagRow(spec: FlagSpec): string {
  const value = spec.type === "bool" ? "" : ` <${spec.type}>`;
  const shown = formatFlagValue(spec.default);
  const suffix = shown === "" || shown === "false" || shown === "0" ? "" : ` (default ${code(shown)})`;
  return cells(
    code(`--${spec.name}${value}`),
    spec.short === undefined ? "" : code(`-${spec.short}`),
    `${escapeHtml(spec.usage)}${suffix}`,
  );
}

const section = (title: string, id: string, body: string) => `<h2 id="${id}">${escapeHtml(title)}</h2>\n${body}`;
const table = (head: readonly string[], rows: readonly string[]) =>
  `<table>\n<thead>\n<tr>${head.map((cell) => `<th>${cell}</th>`).join("")}</tr>\n</thead>\n<tbody>\n${rows.join("\n")}\n</tbody>\n</table>`;
const cells = (...contents: readonly string[]) =>
  `<tr>${contents.map((content) => `<td>${content}</td>`).join("")}</tr>`;
const code = (text: string) => `<code>${escapeHtml(text)}</code>`;

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
