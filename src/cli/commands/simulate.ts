import type { Command } from "../framework/command.ts";

export const command: Command = {
  name: "simulate",
  use: "simulate",
  short: "Says what would become of a request, without sending it",
  flags: [],
  usageExitCode: 2,
  subcommands: [
    {
      name: "request",
      short: "Walks a request through the configuration of the proxies on its way",
      load: async () => (await import("./simulate-request.ts")).command,
    },
  ],
};
