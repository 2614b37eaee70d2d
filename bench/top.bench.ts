import { spawn } from "node:child_process";
import { once } from "node:events";
import { startMeshRun } from "../test/support/mesh/run.ts";
import { PROGRAM } from "../test/support/process/program.ts";
import type { Bench } from "./bench.ts";
import { costOfWatching } from "./mesh-cost.ts";

/** Four callers with a steady trickle and sixteen workloads that are called. */
const FILE = `services:
  caller:
    port: 8490
    replicas: 4
    calls: [web]
    command: exec node -e 'setInterval(() => fetch(process.env.WEB_URL).then((answer) => answer.text(), () => 0), 500); require("http").createServer().listen(process.env.PORT, process.env.HOST)'
  web:
    port: 8490
    replicas: 16
    calls: []
    command: exec node -e 'require("http").createServer((_, answer) => answer.end("web")).listen(process.env.PORT, process.env.HOST)'
`;

/** What `mesh top` costs a mesh of twenty workloads: its own processor time and what it causes elsewhere. */
const top: Bench = {
  name: "top",
  async run({ note }) {
    const isolation = process.getuid?.() === 0 ? "namespaces" : "none";
    await using mesh = startMeshRun({ file: FILE, args: ["--isolation", isolation, "--console", "off"] });
    await mesh.untilUp();
    const words = ["mesh", "top", "--name", mesh.state().name, "--state-dir", `${mesh.folder}/state`];
    // Awaited here: the mesh ends with this block.
    return await costOfWatching({
      mesh,
      what: "mesh top, twenty workloads",
      goal: "at most 3",
      note,
      async watch() {
        const child = spawn(PROGRAM, words, { stdio: ["ignore", "pipe", "inherit"] });
        // Its start is not what it costs to go on.
        await once(child.stdout, "data");
        child.stdout.resume();
        return {
          ...(child.pid === undefined ? {} : { pid: child.pid }),
          async stop() {
            child.kill("SIGINT");
            await once(child, "exit");
          },
        };
      },
    });
  },
};

export default top;
