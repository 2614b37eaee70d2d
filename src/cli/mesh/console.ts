import { MeshError, runningState } from "../../mesh/index.ts";
import { runProgram } from "../../process/run-program.ts";
import type { Command } from "../framework/command.ts";
import { TARGET_FLAGS, targetFolder } from "./target.ts";

const OPEN_MS = 10_000;

export const command: Command = {
  name: "console",
  use: "console",
  short: "Prints the link to the console of a running mesh, or opens it",
  long: `Prints the link to the console of a running mesh. The link has a token in it, which opens the console to whoever has it: it is for its
user alone, and changes with every start of the mesh.`,
  example: `  pilot-agent mesh console

  # In the browser of this machine
  pilot-agent mesh console --open`,
  flags: [{ name: "open", type: "bool", default: false, usage: "Open it in a browser" }, ...TARGET_FLAGS],
  checkArgs: (args) => (args.length > 0 ? `accepts no arguments, received ${args.length}` : undefined),
  async run(context) {
    const { console, name } = runningState(targetFolder(context));
    if (console === undefined) throw new MeshError("not-running", `mesh ${name} was started with --console=off`);
    context.print(`${console.link}\n`);
    if (!context.flags.bool("open")) return 0;
    const opener = process.platform === "darwin" ? "open" : "xdg-open";
    const { code, stderr } = await runProgram(opener, [console.link], { timeoutMs: OPEN_MS });
    if (code !== 0)
      throw new MeshError(
        "not-running",
        `no browser could be opened with ${opener}: ${stderr.trim() || "it is not there"}`,
      );
    return 0;
  },
};
