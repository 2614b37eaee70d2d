import { stopMesh } from "../../mesh/index.ts";
import type { Command } from "../framework/command.ts";
import { TARGET_FLAGS, targetFolder } from "./target.ts";
import { noArguments } from "./usage-mistake.ts";

const EXIT_LEFTOVERS = 1;

export const command: Command = {
  name: "down",
  use: "down",
  short: "Ends a mesh and removes everything it made",
  long: `Ends a mesh in order. Where its mesh up was killed, everything that it had written down is ended and removed: processes, network
namespaces, interfaces, resolver files and sockets. Logs and the mesh's root certificate stay.`,
  flags: TARGET_FLAGS,
  checkArgs: noArguments,
  async run(context) {
    const folder = targetFolder(context);
    const stopped = await stopMesh(folder);
    if (stopped.how === "orderly") {
      context.print(`the mesh in ${folder.path} is down\n`);
      return 0;
    }
    context.print(`cleaned up by state: ${stopped.processes} processes, ${stopped.namespaces} namespaces\n`);
    for (const problem of stopped.problems) context.printError(`error: ${problem}\n`);
    return stopped.problems.length === 0 ? 0 : EXIT_LEFTOVERS;
  },
};
