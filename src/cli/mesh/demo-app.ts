import { DEMO_APPS, runDemoApp } from "../../mesh/index.ts";
import type { Command } from "../framework/command.ts";

export const command: Command = {
  name: "demo-app",
  use: `demo-app ${DEMO_APPS.join("|")}`,
  short: "Runs one application of the demo shop",
  flags: [],
  async run({ args, env, signal, print }) {
    await runDemoApp(args[0] ?? "", { env, signal, print: (line) => print(`${line}\n`) });
    return 0;
  },
};
