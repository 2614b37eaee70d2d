import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { readInputSync } from "../../files/read-file-sync.ts";
import { exampleFile, MESH_SCHEMA, planObstacle, yamlFiles } from "../../mesh/index.ts";
import type { Command } from "../framework/command.ts";
import { FILE_FLAG, type LoadedMeshFile, loadMeshFile } from "./target.ts";
import { validateConfig } from "./validator.ts";

const EXIT_INVALID = 1;

export const initCommand: Command = {
  name: "init",
  use: "init",
  short: "Writes an example of a mesh file",
  flags: [FILE_FLAG],
  async run({ flags, print }) {
    const path = flags.string("file");
    try {
      writeFileSync(path, exampleFile(), { flag: "wx" });
    } catch (thrown) {
      if (errorCode(thrown) === "EEXIST") throw new Error(`${path} is there already and stays as it is`);
      throw thrown;
    }
    print(`${path} is written; pilot-agent mesh up starts it\n`);
    return 0;
  },
};

export const validateCommand: Command = {
  name: "validate",
  use: "validate",
  short: "Checks a mesh file and its Istio objects",
  flags: [FILE_FLAG, { name: "output", short: "o", type: "string", default: "text", usage: "Format: text or json" }],
  async run({ flags, print, printError }) {
    const path = flags.string("file");
    const output = flags.string("output");
    if (output !== "text" && output !== "json") {
      throw new Error(`--output is ${JSON.stringify(output)}, allowed are text, json`);
    }
    const loaded = tryToLoad(path);
    if ("problems" in loaded) {
      if (output === "json") print(`${JSON.stringify({ valid: false, problems: loaded.problems }, null, 2)}\n`);
      else for (const problem of loaded.problems) printError(`${problem}\n`);
      return EXIT_INVALID;
    }
    const { file, directory } = loaded;
    const inline = file.config.flatMap(({ value, line }) =>
      validateConfig(JSON.stringify(value)).map(({ text }) => `${path}:${line}: ${text}`),
    );
    const folder = file.configDir === undefined ? undefined : resolve(directory, file.configDir);
    const obstacle = planObstacle(file);
    const problems = [
      ...(obstacle === undefined ? [] : [`${path}: ${obstacle}`]),
      ...inline,
      ...(folder === undefined ? [] : folderProblems(folder)),
    ];
    if (output === "json") print(`${JSON.stringify({ valid: problems.length === 0, problems }, null, 2)}\n`);
    else for (const problem of problems) printError(`${problem}\n`);
    if (problems.length > 0) return EXIT_INVALID;
    if (output === "text")
      print(`${path} is valid: ${file.services.length} services, ${file.config.length} Istio objects\n`);
    return 0;
  },
};

export const schemaCommand: Command = {
  name: "schema",
  use: "schema",
  short: "Prints the JSON schema of mesh files",
  flags: [],
  async run({ print }) {
    print(`${JSON.stringify(MESH_SCHEMA, null, 2)}\n`);
    return 0;
  },
};

/** All problems of a file that cannot be understood, one text each. */
function tryToLoad(path: string): LoadedMeshFile | { readonly problems: readonly string[] } {
  try {
    return loadMeshFile(path);
  } catch (thrown) {
    return { problems: errorMessage(thrown).split("\n") };
  }
}

function folderProblems(folder: string): readonly string[] {
  const found = yamlFiles(folder);
  return "problem" in found ? [found.problem] : found.files.flatMap(fileProblems);
}

function fileProblems(path: string): readonly string[] {
  try {
    const problems = validateConfig(readInputSync(path));
    return problems.map(({ line, column, text }) => `${path}:${line}:${column}: ${text}`);
  } catch (thrown) {
    return [`${path}: ${errorMessage(thrown)}`];
  }
}
