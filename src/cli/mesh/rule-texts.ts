import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { errorMessage } from "../../base/coded-error.ts";
import { readInputSync } from "../../files/read-file-sync.ts";
import { splitDocuments } from "../../files/yaml/split-documents.ts";
import {
  type MeshFile,
  type MeshState,
  parseMeshFile,
  type StateFolder,
  surroundings,
  yamlFiles,
} from "../../mesh/index.ts";
import type { CommandContext } from "../framework/command.ts";
import { APPLIED, type RuleText } from "./review.ts";

export interface RuleTexts {
  readonly texts: readonly RuleText[];
  /** Files that cannot be read. */
  readonly problems: readonly string[];
}

/** The Istio objects of a mesh file and of its folder. */
export function ruleTexts(
  { config, configDir }: Pick<MeshFile, "config" | "configDir">,
  { fileName, directory }: { readonly fileName: string; readonly directory: string },
): RuleTexts {
  const inline = config.map(({ value, line }) => ({ file: fileName, text: JSON.stringify(value), line }));
  if (configDir === undefined) return { texts: inline, problems: [] };
  const { texts, problems } = folderTexts(resolve(directory, configDir));
  return { texts: [...inline, ...texts], problems };
}

/** Those of a running mesh, with what was applied. */
export function runningTexts(
  folder: StateFolder,
  { source }: Pick<MeshState, "source">,
  env: CommandContext["env"],
): RuleTexts {
  const applied = existsSync(folder.applied) ? folderTexts(folder.applied) : { texts: [], problems: [] };
  const named = applied.texts.map(({ text }) => ({ file: APPLIED, text, line: 1 }));
  if (source?.path === undefined) return { texts: [...inlineTexts(folder), ...named], problems: applied.problems };
  try {
    const parsed = parseMeshFile(readInputSync(source.path), surroundings(source.directory, env));
    const own = "file" in parsed ? ruleTexts(parsed.file, source) : { texts: [], problems: [] };
    return { texts: [...own.texts, ...named], problems: own.problems };
  } catch {
    // `mesh up` says what is wrong with its file.
    return { texts: named, problems: applied.problems };
  }
}

/** Of a mesh that comes from no file, such as the demo: as the control plane reads them. */
function inlineTexts({ config }: StateFolder): readonly RuleText[] {
  const path = join(config, "20-inline.yaml");
  if (!existsSync(path)) return [];
  return splitDocuments(readInputSync(path)).map(({ text }) => ({ file: "demo", text }));
}

function folderTexts(folder: string): RuleTexts {
  const found = yamlFiles(folder);
  if ("problem" in found) return { texts: [], problems: [found.problem] };
  const texts: RuleText[] = [];
  const problems: string[] = [];
  for (const file of found.files) {
    try {
      texts.push({ file, text: readInputSync(file) });
    } catch (thrown) {
      problems.push(`${file}: ${errorMessage(thrown)}`);
    }
  }
  return { texts, problems };
}
