import { beforeEach, expect, test } from "vitest";
import { exampleFile } from "../src/mesh/example-file.ts";
import { startMeshRun } from "../test/support/mesh/run.ts";
import { has, needs } from "../test/support/needs.ts";
import { fetchAnswer } from "../test/support/net/fetch-answer.ts";
import { freePorts } from "../test/support/net/free-ports.ts";
import { until } from "../test/support/wait/until.ts";

beforeEach(needs("envoy"));

const ISOLATIONS = has("netns") && has("iptables") ? (["none", "namespaces"] as const) : (["none"] as const);

/** A web page that asks a TCP service of two replicas for its name, as a client of a database would. */
function tcpFile(web: number, tcp: number): string {
  return `services:
  web:
    port: ${web}
    entry: true
    calls: [names]
    command:
      - node
      - -e
      - |
        require("http").createServer((_, out) => require("net").connect(process.env.NAMES_PORT, process.env.NAMES_HOST)
          .on("error", (failed) => out.writeHead(502).end(failed.message)).pipe(out)).listen(process.env.PORT, process.env.HOST);
  names:
    port: ${tcp}
    protocol: tcp
    replicas: 2
    calls: []
    command: [node, -e, 'require("net").createServer((socket) => socket.end(process.env.MESH_WORKLOAD)).listen(process.env.PORT, process.env.HOST)']
`;
}

test.each(ISOLATIONS)(
  "calls of a TCP service reach all of its replicas, over mutual TLS, and a closed terminal ends the mesh (%s)",
  async (isolation) => {
    const [web = 0, tcp = 0] = await freePorts(2);
    await using mesh = startMeshRun({ file: tcpFile(web, tcp), args: ["--isolation", isolation] });
    await mesh.untilUp();
    const { entries, workloads } = await mesh.status();
    const seen = new Set<string>();
    await until(async () => {
      const { body } = await fetchAnswer(`${entries.web}/`);
      seen.add(body);
      return seen.size === 2 ? undefined : `seen so far: ${[...seen]}`;
    });
    expect([...seen].sort()).toEqual(["names-1", "names-2"]);
    // From outside, in plain text, nothing is to be had.
    const first = workloads.find(({ name }) => name === "names-1");
    await expect(fetchAnswer(`http://${first?.address}:${tcp}/`)).rejects.toThrow();
    // A closed terminal ends a mesh as Ctrl-C does.
    mesh.child.kill("SIGHUP");
    expect(await mesh.exited).toBe(0);
    expect(mesh.output()).toMatch(/ending everything[\s\S]*is down; its logs are in/);
  },
);

test.each(ISOLATIONS)("the example that mesh init writes runs as it is (%s)", async (isolation) => {
  const [port = 0] = await freePorts(1);
  const file = exampleFile().replaceAll("port: 8080", `port: ${port}`);
  await using mesh = startMeshRun({ file, args: ["--isolation", isolation] });
  await mesh.untilUp();
  const { entries } = await mesh.status();
  const answers = new Set<string>();
  // One in ten goes to v2.
  await until(async () => {
    answers.add((await fetchAnswer(`${entries.web}/`)).body);
    return answers.size === 2 ? undefined : `answers so far: ${[...answers]}`;
  });
  expect([...answers].sort()).toEqual(["hello from v1\n", "hello from v2\n"]);
});

test("Ctrl-C while everything still starts leaves nothing", async () => {
  const [web = 0, tcp = 0] = await freePorts(2);
  await using mesh = startMeshRun({ file: tcpFile(web, tcp), args: ["--isolation", "none"] });
  await until(() => (mesh.output().includes("isolation: ") ? undefined : "not begun"));
  mesh.child.kill("SIGINT");
  await mesh.exited;
  expect((await mesh.cli("status")).stderr).toContain("no mesh runs in");
});
