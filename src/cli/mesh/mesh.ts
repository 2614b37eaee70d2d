import { errorMessage } from "../../base/coded-error.ts";
import type { Command, CommandContext } from "../framework/command.ts";
import { UsageMistake } from "./usage-mistake.ts";

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/** Every sub-command is loaded only when it runs. */
export const command: Command = {
  name: "mesh",
  use: "mesh",
  short: "Runs a whole service mesh on this machine",
  long: `Runs a whole service mesh on this machine, without Kubernetes and without containers: a control plane with its certificate
authority, and for every workload of a small file its process, an agent and an Envoy.

As root every workload gets a network namespace of its own, its traffic and DNS captured as in a pod. Without root nothing is captured:
applications find the address of every service they call in their environment.`,
  flags: [],
  usageExitCode: EXIT_USAGE,
  subcommands: [
    {
      name: "up",
      short: "Starts a mesh and keeps it running until Ctrl-C",
      load: async () => withPlainErrors((await import("./up.ts")).command),
    },
    {
      name: "down",
      short: "Ends a mesh and removes everything it made",
      load: async () => withPlainErrors((await import("./down.ts")).command),
    },
    {
      name: "ls",
      short: "Lists the meshes of this machine",
      load: async () => withPlainErrors((await import("./ls.ts")).command),
    },
    {
      name: "restart",
      short: "Stops and starts processes of a running mesh",
      load: async () => withPlainErrors((await import("./parts.ts")).restartCommand),
    },
    {
      name: "status",
      short: "Shows what runs and what does not",
      load: async () => withPlainErrors((await import("./status.ts")).command),
    },
    {
      name: "console",
      short: "Prints the link to the console of a running mesh, or opens it",
      load: async () => withPlainErrors((await import("./console.ts")).command),
    },
    {
      name: "top",
      short: "Shows requests, errors and latencies between workloads, live",
      load: async () => withPlainErrors((await import("./top.ts")).command),
    },
    {
      name: "logs",
      short: "Shows the logs of applications, agents and Envoys",
      load: async () => withPlainErrors((await import("./logs.ts")).command),
    },
    {
      name: "apply",
      short: "Applies a changed mesh file or Istio objects to a running mesh",
      load: async () => withPlainErrors((await import("./apply.ts")).command),
    },
    {
      name: "get",
      short: "Lists the Istio objects of a running mesh",
      load: async () => withPlainErrors((await import("./objects.ts")).getCommand),
    },
    {
      name: "describe",
      short: "Shows an Istio object, where it stands and what is wrong with it",
      load: async () => withPlainErrors((await import("./objects.ts")).describeCommand),
    },
    {
      name: "delete",
      short: "Takes back Istio objects that were applied",
      load: async () => withPlainErrors((await import("./objects.ts")).deleteCommand),
    },
    {
      name: "proxy-status",
      short: "Shows which proxies have accepted what they were sent",
      load: async () => withPlainErrors((await import("./proxy-commands.ts")).proxyStatusCommand),
    },
    {
      name: "proxy-config",
      short: "Shows what the Envoy of a workload has been configured with",
      load: async () => withPlainErrors((await import("./proxy-commands.ts")).proxyConfigCommand),
    },
    {
      name: "exec",
      short: "Runs a command where a workload runs",
      load: async () => withPlainErrors((await import("./exec.ts")).command),
    },
    {
      name: "kill",
      short: "Kills a process of a running mesh, to see it come back",
      load: async () => withPlainErrors((await import("./parts.ts")).killCommand),
    },
    {
      name: "stop",
      short: "Stops a process of a running mesh",
      load: async () => withPlainErrors((await import("./parts.ts")).stopCommand),
    },
    {
      name: "start",
      short: "Starts a stopped process of a running mesh",
      load: async () => withPlainErrors((await import("./parts.ts")).startCommand),
    },
    {
      name: "init",
      short: "Writes an example of a mesh file",
      load: async () => withPlainErrors((await import("./file-commands.ts")).initCommand),
    },
    {
      name: "validate",
      short: "Checks a mesh file and its Istio objects",
      load: async () => withPlainErrors((await import("./file-commands.ts")).validateCommand),
    },
    {
      name: "schema",
      short: "Prints the JSON schema of mesh files",
      load: async () => withPlainErrors((await import("./file-commands.ts")).schemaCommand),
    },
    {
      name: "demo-app",
      short: "Runs one application of the demo shop",
      hidden: true,
      load: async () => withPlainErrors((await import("./demo-app.ts")).command),
    },
  ],
};

/** What a user can mend is reported once and in plain words, without the log line that other commands add for collectors. */
function withPlainErrors(command: Command): Command {
  const { run } = command;
  if (run === undefined) return command;
  return {
    ...command,
    usageExitCode: EXIT_USAGE,
    run: async (context: CommandContext) => {
      try {
        return await run(context);
      } catch (thrown) {
        context.printError(`Error: ${errorMessage(thrown)}\n`);
        return thrown instanceof UsageMistake ? EXIT_USAGE : EXIT_FAILED;
      }
    },
  };
}
