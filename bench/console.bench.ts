import { openConsole } from "../test/support/console/console-client.ts";
import { startMeshRun } from "../test/support/mesh/run.ts";
import type { Bench } from "./bench.ts";
import { costOfWatching } from "./mesh-cost.ts";

/** Two callers with a steady trickle and eight workloads that are called. */
const FILE = `services:
  caller:
    port: 8490
    replicas: 2
    calls: [web]
    command: exec node -e 'setInterval(() => fetch(process.env.WEB_URL).then((answer) => answer.text(), () => 0), 500); require("http").createServer().listen(process.env.PORT, process.env.HOST)'
  web:
    port: 8490
    replicas: 8
    calls: []
    command: exec node -e 'require("http").createServer((_, answer) => answer.end("web")).listen(process.env.PORT, process.env.HOST)'
`;

/** What a page that is open costs a mesh of ten workloads: processor time of all its processes, in percent of one core. */
const consoleBench: Bench = {
  name: "console",
  async run({ note }) {
    const isolation = process.getuid?.() === 0 ? "namespaces" : "none";
    await using mesh = startMeshRun({ file: FILE, args: ["--isolation", isolation] });
    await mesh.untilUp();
    const { console } = mesh.state();
    if (console === undefined) throw new Error("the mesh has no console");
    const client = await openConsole(console.link);
    // Awaited here: the mesh ends with this block.
    return await costOfWatching({
      mesh,
      what: "a page open, ten workloads",
      goal: "at most 2",
      note,
      async watch() {
        const looking = new AbortController();
        await client.follow("/api/events", looking.signal);
        return { stop: async () => looking.abort() };
      },
    });
  },
};

export default consoleBench;
