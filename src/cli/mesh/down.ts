import { MeshError, type RemovedRun, removeAbandoned, stopMesh } from "../../mesh/index.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { homeOf, TARGET_FLAGS, targetFolder } from "./target.ts";
import { noArguments } from "./usage-mistake.ts";

const EXIT_LEFTOVERS = 1;

export const command: Command = {
  name: "down",
  use: "down",
  short: "Ends a mesh and removes everything it made",
  long: `Ends a mesh in order. Where its mesh up was killed, everything that it had written down is ended and removed: processes, network
namespaces, interfaces, resolver files and sockets. Logs and the mesh's root certificate stay. Root also removes what meshes left that were
killed and whose state folders are gone.`,
  flags: TARGET_FLAGS,
  checkArgs: noArguments,
  async run(context) {
    const removed = await removeLeft(context);
    for (const { text } of removed) context.print(`removed what is left of ${text}\n`);
    const problems = removed.flatMap((run) => run.problems);
    try {
      const folder = targetFolder(context);
      const stopped = await stopMesh(folder);
      if (stopped.how === "orderly") context.print(`the mesh in ${folder.path} is down\n`);
      else {
        const { processes, namespaces } = stopped;
        const ended = `${processes} ${processes === 1 ? "process" : "processes"}`;
        context.print(
          `cleaned up by state: ${ended}, ${namespaces} ${namespaces === 1 ? "namespace" : "namespaces"}\n`,
        );
        problems.push(...stopped.problems);
      }
    } catch (thrown) {
      const isNone = thrown instanceof MeshError && thrown.code === "not-running";
      if (!isNone || removed.length === 0) throw thrown;
    }
    for (const problem of problems) context.printError(`error: ${problem}\n`);
    return problems.length === 0 ? 0 : EXIT_LEFTOVERS;
  },
};

/** Of the named mesh, or of all. Only root's meshes have anything on the machine that outlives them. */
async function removeLeft(context: Pick<CommandContext, "flags" | "env">): Promise<readonly RemovedRun[]> {
  if (process.getuid?.() !== 0) return [];
  const named = context.flags.string("name");
  return removeAbandoned(homeOf(context), ({ owner }) => named === "" || owner?.name === named);
}
