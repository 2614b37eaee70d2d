import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ENVIRONMENT } from "../../settings/environment-table.ts";
import { manPage, markdownPage, pageName, yamlPage } from "../framework/collateral-formats.ts";
import { htmlFragment, type MetricDoc } from "../framework/collateral-html.ts";
import type { Command, CommandEntry } from "../framework/command.ts";
import { collectCommandDocs } from "../framework/command-docs.ts";
import { completionScript } from "../framework/completion-scripts.ts";
import { PROGRAM } from "../framework/run-cli.ts";

const KINDS = ["markdown", "man", "bash", "zsh", "yaml", "html_fragment_with_front_matter"] as const;
type Kind = (typeof KINDS)[number];

const USAGES: Readonly<Record<Kind, string>> = {
  markdown: "Produce markdown documentation files",
  man: "Produce man pages",
  bash: "Produce bash completion files",
  zsh: "Produce zsh completion files",
  yaml: "Produce YAML documentation files",
  html_fragment_with_front_matter:
    "Produce an HTML documentation file with front matter: commands, environment variables, metrics",
};

/** Generates documents from the declarations the program itself runs by. */
export function createCollateralCommand(
  commands: readonly CommandEntry[],
  listMetrics: () => Promise<readonly MetricDoc[]>,
): Command {
  return {
    name: "collateral",
    use: "collateral",
    short: "Generate collateral support files for this program",
    example: `  # Manual pages for a package
  pilot-agent collateral --man -o /usr/share/man/man1`,
    flags: [
      {
        name: "outputDir",
        short: "o",
        type: "string",
        default: ".",
        usage: "Directory where to generate the collateral files",
      },
      { name: "all", type: "bool", default: false, usage: "Produce all supported collateral files" },
      ...KINDS.map((kind) => ({ name: kind, type: "bool" as const, default: false, usage: USAGES[kind] })),
    ],
    async run({ flags, print }) {
      const wanted = KINDS.filter((kind) => flags.bool("all") || flags.bool(kind));
      if (wanted.length === 0) {
        throw new Error(`nothing to generate: give --all or any of ${KINDS.map((kind) => `--${kind}`).join(", ")}`);
      }
      const folder = flags.string("outputDir");
      await mkdir(folder, { recursive: true });
      for (const kind of wanted) {
        const files = await render(kind, commands, listMetrics);
        for (const [name, text] of files) await writeFile(join(folder, name), text);
        print(`${kind}: ${files.length} ${files.length === 1 ? "file" : "files"} in ${folder}\n`);
      }
      return 0;
    },
  };
}

async function render(
  kind: Kind,
  commands: readonly CommandEntry[],
  listMetrics: () => Promise<readonly MetricDoc[]>,
): Promise<readonly (readonly [name: string, text: string])[]> {
  const docs = await collectCommandDocs(commands);
  switch (kind) {
    case "markdown":
      return docs.map((doc) => [`${pageName(doc.path)}.md`, markdownPage(doc)]);
    case "man":
      return docs.map((doc) => [`${pageName(doc.path).replaceAll("_", "-")}.1`, manPage(doc)]);
    case "yaml":
      return docs.map((doc) => [`${pageName(doc.path)}.yaml`, yamlPage(doc)]);
    case "bash":
      return [[`${PROGRAM}.bash`, completionScript("bash", PROGRAM, true)]];
    case "zsh":
      return [[`_${PROGRAM}`, completionScript("zsh", PROGRAM, true)]];
    case "html_fragment_with_front_matter": {
      const variables = ENVIRONMENT.map(({ name, type, default: fallback, effect }) => ({
        name,
        type,
        defaultText: String(fallback),
        effect,
      }));
      return [[`${PROGRAM}.html`, htmlFragment(docs, variables, await listMetrics())]];
    }
  }
}
