import { writeFileSync } from "node:fs";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import {
  commandProblems,
  exampleFile,
  MESH_SCHEMA,
  planObstacle,
  portObstacle,
  previewPlan,
  problemText,
  takenPorts,
} from "../../mesh/index.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { type Review, reviewRules } from "./review.ts";
import { ruleTexts } from "./rule-texts.ts";
import { FILE_FLAG, fileProblem, type LoadedMeshFile, loadMeshFile } from "./target.ts";
import { noArguments, oneOf } from "./usage-mistake.ts";

const EXIT_INVALID = 1;

export const initCommand: Command = {
  name: "init",
  use: "init",
  short: "Writes an example of a mesh file",
  flags: [FILE_FLAG],
  checkArgs: noArguments,
  async run({ flags, print }) {
    const path = flags.string("file");
    try {
      writeFileSync(path, exampleFile(), { flag: "wx" });
    } catch (thrown) {
      if (errorCode(thrown) === "EEXIST") throw new Error(`${path} is there already and stays as it is`);
      throw new Error(`${path} cannot be written: ${fileProblem(thrown)}`);
    }
    print(`${path} is written; pilot-agent mesh up starts it\n`);
    return 0;
  },
};

export const validateCommand: Command = {
  name: "validate",
  use: "validate",
  short: "Checks a mesh file and its Istio objects",
  long: `Checks what mesh up would find: the file itself, directories and programs of its commands, ports that cannot be had, and its Istio objects,
by themselves and together with the services and workloads they are for. The exit code is 1 when there is an error; warnings name what has
no effect, or another one than it seems.`,
  flags: [FILE_FLAG, { name: "output", short: "o", type: "string", default: "text", usage: "Format: text or json" }],
  checkArgs: noArguments,
  async run(context) {
    const { flags, print, printError } = context;
    const path = flags.string("file");
    const output = oneOf("output", flags.string("output"), ["text", "json"]);
    const loaded = tryToLoad(path, context.env);
    const { errors, warnings } =
      "problems" in loaded ? { errors: loaded.problems, warnings: [] } : await findProblems(context, path, loaded);
    if (output === "json") {
      print(`${JSON.stringify({ valid: errors.length === 0, problems: errors, warnings }, null, 2)}\n`);
    } else {
      for (const error of errors) printError(`${error}\n`);
      for (const warning of warnings) printError(`warning: ${warning}\n`);
    }
    if (errors.length > 0 || "problems" in loaded) return EXIT_INVALID;
    const { services, config } = loaded.file;
    if (output === "text")
      print(`${path} is valid: ${count(services.length, "service")}, ${count(config.length, "Istio object")}\n`);
    return 0;
  },
};

/** What `mesh up` would find out, without starting anything. */
async function findProblems({ env }: CommandContext, path: string, loaded: LoadedMeshFile): Promise<Review> {
  const { file, directory } = loaded;
  const isRoot = process.getuid?.() === 0;
  const obstacles = [
    planObstacle(file),
    portObstacle(file, isRoot ? "namespaces" : "none"),
    ...(isRoot ? [] : await takenPorts(file)),
  ].flatMap((obstacle) => (obstacle === undefined ? [] : [`${path}: ${obstacle}`]));
  const { texts, problems } = ruleTexts(file, { fileName: path, directory });
  const { errors, warnings } = await reviewRules(previewPlan(file), texts);
  const notices = file.notices.map((notice) => problemText(notice, path));
  const commands = commandProblems({ file, fileName: path, directory, env });
  return { errors: [...obstacles, ...commands, ...problems, ...errors], warnings: [...notices, ...warnings] };
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}

export const schemaCommand: Command = {
  name: "schema",
  use: "schema",
  short: "Prints the JSON schema of mesh files",
  flags: [],
  checkArgs: noArguments,
  async run({ print }) {
    print(`${JSON.stringify(MESH_SCHEMA, null, 2)}\n`);
    return 0;
  },
};

/** All problems of a file that cannot be understood, one text each. */
function tryToLoad(
  path: string,
  env: CommandContext["env"],
): LoadedMeshFile | { readonly problems: readonly string[] } {
  try {
    return loadMeshFile(path, env);
  } catch (thrown) {
    return { problems: errorMessage(thrown).split("\n") };
  }
}
