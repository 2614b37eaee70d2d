import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { pairFile } from "../test/support/mesh/pair.ts";
import { startMeshRun } from "../test/support/mesh/run.ts";
import { needs, type Requirement } from "../test/support/needs.ts";
import { fetchAnswer } from "../test/support/net/fetch-answer.ts";
import { freePorts } from "../test/support/net/free-ports.ts";
import { until } from "../test/support/wait/until.ts";

const MODES: readonly { readonly isolation: "namespaces" | "none"; readonly requires: readonly Requirement[] }[] = [
  { isolation: "namespaces", requires: ["envoy", "netns", "iptables", "setpriv"] },
  { isolation: "none", requires: ["envoy"] },
];

/** Answers with its name; /health fails while there is a file of that name beside the mesh file. */
const SERVE = `exec node -e 'const fs = require("fs");
        require("http").createServer((req, out) => {
          const sick = req.url === "/health" && fs.existsSync(process.env.MESH_WORKLOAD + ".sick");
          out.writeHead(sick ? 500 : 200).end(sick ? "the disk is full" : process.env.MESH_WORKLOAD);
        }).listen(process.env.PORT, process.env.HOST)'`;

const PASS_ON = `exec node -e 'const http = require("http");
        http.createServer((_, out) => http.get(process.env.STORE_URL, (res) => { out.writeHead(res.statusCode); res.pipe(out); })
          .on("error", (failed) => out.writeHead(502).end(failed.message))).listen(process.env.PORT, process.env.HOST)'`;

function storeFile(port: number): string {
  return `namespace: pair
services:
  web:
    port: ${port}
    entry: true
    calls: [store]
    depends_on: [store]
    env_file: web.env
    command: |
      ${PASS_ON}
  store:
    port: ${port}
    calls: []
    replicas: 2
    healthcheck: {http: /health, interval: 200ms, retries: 2}
    command: |
      ${SERVE}
  late:
    calls: []
    depends_on: {web: {condition: started}, gate: {}}
    command: exec sleep 1000
  gate:
    calls: []
    healthcheck: {command: test -e open, interval: 200ms}
    command: exec sleep 1000
`;
}

describe.each(MODES)("with isolation $isolation", ({ isolation, requires }) => {
  beforeEach(needs(...requires));

  test("applications start in their order, and are called only while their health checks pass", async () => {
    const [port = 0] = await freePorts(1);
    await using mesh = startMeshRun({
      file: storeFile(port),
      files: { "web.env": "GREETING='from a file'\n", "store-1.sick": "" },
      args: ["--isolation", isolation, "--quiet"],
    });
    const workload = async (name: string) => (await mesh.status()).workloads.find((each) => each.name === name);
    const untilReason = async (name: string, wanted: RegExp) => {
      await until(async () => {
        const { reason = "none" } = (await workload(name).catch(() => undefined)) ?? {};
        return wanted.test(reason) ? undefined : `${name}: ${reason}`;
      }, 90_000);
    };
    // The first replica is not healthy, so nobody is started who waits for the service.
    await untilReason("web", /^web\/app: waits for store \(store-1\/app: unhealthy: \/health answers 500/);
    await untilReason("late", /^late\/app: waits for web \(not started yet\)/);
    await until(async () => (await workload("store-2"))?.ready || "store-2 is not ready");
    const [first] = (await mesh.status()).workloads.filter(({ name }) => name === "store-1");
    expect(first).toMatchObject({ ready: false, health: { state: "unhealthy" } });

    rmSync(join(mesh.folder, "store-1.sick"));
    await untilReason("late", /^late\/app: waits for gate \(gate\/app: (health check|unhealthy): exit code 1/);
    writeFileSync(join(mesh.folder, "open"), "");
    await mesh.untilUp();
    const url = `${(await mesh.status()).entries.web}/`;
    const answers = async () => {
      const seen = await Promise.all(Array.from({ length: 20 }, () => fetchAnswer(url)));
      return [...new Set(seen.map(({ status, body }) => `${status} ${body}`))].sort().join(", ");
    };
    const untilAnswers = (wanted: string) =>
      until(async () => {
        const seen = await answers();
        return seen === wanted ? undefined : seen;
      }, 60_000);
    await untilAnswers("200 store-1, 200 store-2");
    const { stdout } = await mesh.cli("exec", "web", "--", "sh", "-c", "echo $GREETING");
    expect(stdout).toBe("from a file\n");

    // Out of the mesh while it is sick, and back.
    writeFileSync(join(mesh.folder, "store-2.sick"), "");
    await untilReason("store-2", /unhealthy: \/health answers 500/);
    await untilAnswers("200 store-1");
    const { stdout: table, code } = await mesh.cli("status");
    expect(code).toBe(1);
    expect(table).toMatch(/^store-2 +no .*app: unhealthy: \/health answers 500/m);
    rmSync(join(mesh.folder, "store-2.sick"));
    await untilAnswers("200 store-1, 200 store-2");

    // Variables of the file are those of whoever applies it.
    mesh.write("mesh.yaml", storeFile(port).replace("env_file: web.env", "env: {GREETING: '${WORD:-none}'}"));
    const applied = await mesh.cli("apply", "-f", "mesh.yaml");
    expect(applied.stdout).toContain("~ web  restarts: env");
    expect((await mesh.cli("exec", "web", "--", "sh", "-c", "echo $GREETING")).stdout).toBe("none\n");
    expect(existsSync(join(mesh.folder, "open"))).toBe(true);
  });

  test("the first call after the start reaches a service with a health check", async () => {
    const [port = 0] = await freePorts(1);
    const checked = pairFile({ port }).replace("    calls: []\n", "    calls: []\n    healthcheck: {tcp: connect}\n");
    expect(checked).toContain("healthcheck");
    await using mesh = startMeshRun({ file: checked, args: ["--isolation", isolation, "--quiet"] });
    await mesh.untilUp();
    const { web } = (await mesh.status()).entries;
    expect((await fetchAnswer(`${web}/`)).body).toBe(`hello ${mesh.state().name}`);
  });
});
