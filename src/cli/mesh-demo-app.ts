import { DEMO_APPS, runDemoApp } from "../mesh/index.ts";
import type { Command } from "./command.ts";

export const command: Command = {
  name: "demo-app",
  use: `demo-app ${DEMO_APPS.join("|")}`,
  short: "Runs one application of the demo shop",
  flags: [],
  async run({ args, env, signal, print }) {
    const app = DEMO_APPS.find((name) => name === args[0]);
    if (app === undefined)
      throw new Error(`there is no demo application ${args[0]}; there are ${DEMO_APPS.join(", ")}`);
    await runDemoApp(app, { env, signal, print: (line) => print(`${line}\n`) });
    return 0;
  },
};
