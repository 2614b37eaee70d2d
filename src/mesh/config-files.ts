import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { errorMessage } from "../base/coded-error.ts";
import { readTextLimitedSync } from "../files/read-file-sync.ts";
import { replaceFileSync } from "../files/replace-file.ts";
import type { IstioObject } from "./core/istio-objects.ts";
import type { MeshFile } from "./core/mesh-file.ts";
import type { MeshPlan } from "./core/mesh-plan.ts";
import { SETTLED_MS, stampOf } from "./file-stamp.ts";

/** Says what is wrong with a text of Istio objects; the control plane's own rules. */
export type ConfigValidator = (text: string, mesh: RuledMesh) => readonly ConfigProblem[];

/** What rules are for. */
export type RuledMesh = Pick<MeshPlan, "namespace" | "services">;

export interface ConfigProblem {
  readonly line: number;
  readonly column: number;
  readonly text: string;
}

export interface ConfigFilesOptions {
  /** What the control plane reads. */
  readonly target: string;
  readonly validate: ConfigValidator;
  /** As it is now. */
  readonly mesh: () => RuledMesh;
  /** How long a changed file is left alone. */
  readonly settledMs?: number;
}

/**
 * Keeps the control plane's folder: the objects of the plan, those of the mesh file and a copy of the user's folder. A file that is
 * broken is not copied, so its last good state stays in force.
 */
export interface ConfigFiles {
  writeGenerated(objects: readonly IstioObject[]): void;
  /** Problems of the objects in a mesh file as lines for the user. */
  checkInline(config: MeshFile["config"], meshFile: string): readonly string[];
  /** The same; what is broken stays as it was. */
  writeInline(config: MeshFile["config"], meshFile: string): readonly string[];
  /** Of no folder: nothing. */
  mirror(folder: string | undefined): readonly string[];
}

interface Mirrored {
  readonly stamp: string;
  readonly problems: readonly string[];
}

export function createConfigFiles({
  target,
  mesh,
  settledMs = SETTLED_MS,
  ...options
}: ConfigFilesOptions): ConfigFiles {
  const validate = (text: string) => options.validate(text, mesh());
  let mirroredFolder: string | undefined;
  const mirrored = new Map<string, Mirrored>();
  const rules = join(target, "30-rules");
  mkdirSync(target, { recursive: true, mode: 0o755 });
  const checkInline: ConfigFiles["checkInline"] = (config, meshFile) =>
    config.flatMap(({ value, line }) =>
      validate(JSON.stringify(value)).map(({ text }) => `${meshFile}:${line}: ${text}`),
    );
  return {
    checkInline,
    writeGenerated: (objects) => writeConfigFile(join(target, "90-generated.yaml"), documents(objects)),
    writeInline(config, meshFile) {
      const problems = checkInline(config, meshFile);
      if (problems.length === 0)
        writeConfigFile(
          join(target, "20-inline.yaml"),
          documents(config.map(({ value }) => inNamespace(value, mesh().namespace))),
        );
      return problems;
    },
    mirror(folder) {
      if (folder !== mirroredFolder) {
        // Nothing of another folder stays.
        rmSync(rules, { recursive: true, force: true });
        mirrored.clear();
      }
      const hasMirrored = folder === mirroredFolder;
      mirroredFolder = folder;
      if (folder === undefined) return [];
      const found = yamlFiles(folder);
      if ("problem" in found) return [found.problem];
      for (const path of mirrored.keys()) {
        if (found.files.includes(path)) continue;
        mirrored.delete(path);
        rmSync(join(rules, relative(folder, path)), { force: true });
      }
      for (const path of found.files) {
        const { text: stamp, ageMs } = stampOf(path);
        if (mirrored.get(path)?.stamp === stamp || (hasMirrored && ageMs < settledMs)) continue;
        const problems = copyChecked(path, join(rules, relative(folder, path)), validate);
        mirrored.set(path, { stamp, problems });
      }
      return [...mirrored.values()].flatMap(({ problems }) => problems);
    },
  };
}

function copyChecked(
  path: string,
  copy: string,
  validate: (text: string) => readonly ConfigProblem[],
): readonly string[] {
  try {
    const text = readTextLimitedSync(path);
    const problems = validate(text).map((problem) => `${path}:${problem.line}:${problem.column}: ${problem.text}`);
    // A Secret that only its owner may read stays so.
    if (problems.length === 0) writeConfigFile(copy, text, statSync(path).mode & 0o644);
    return problems;
  } catch (thrown) {
    return [`${path}: ${errorMessage(thrown)}`];
  }
}

/** An object of the mesh file that names no namespace is in that of the mesh. */
function inNamespace(value: unknown, namespace: string): unknown {
  const { metadata, ...rest } = value as { readonly metadata: Readonly<Record<string, unknown>> };
  return { ...rest, metadata: { namespace, ...metadata } };
}

function documents(objects: readonly unknown[]): string {
  return objects.map((object) => `---\n${JSON.stringify(object, null, 1)}\n`).join("");
}

export function writeConfigFile(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  replaceFileSync(path, text, { mode });
}

/** What of a folder the control plane gets: no hidden files, and no folders that are called like files. */
export function yamlFiles(folder: string): { readonly files: readonly string[] } | { readonly problem: string } {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
    const wanted = names.filter((name) => /\.ya?ml$/.test(name) && !/(^|\/)\./.test(name));
    const paths = wanted.map((name) => join(folder, name));
    return { files: paths.filter((path) => statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) };
  } catch (thrown) {
    return { problem: `configDir cannot be read: ${errorMessage(thrown)}` };
  }
}
