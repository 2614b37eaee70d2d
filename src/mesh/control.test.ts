import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lifeOf } from "../../test/support/process/process-life.ts";
import { until } from "../../test/support/wait/until.ts";
import { identifyProcess } from "../process/process-identity.ts";
import type { FileRequest } from "./apply-mesh-file.ts";
import { applyObjects, takeBackObjects } from "./apply-objects.ts";
import { actOnPart, applyMeshFile, askStatus, runningState } from "./control-client.ts";
import { createMeshParts, type MeshParts } from "./mesh-parts.ts";
import type { MeshStatus } from "./mesh-status.ts";
import { markedProcesses } from "./process/mesh-processes.ts";
import { startControlServer } from "./start-control-server.ts";
import type { Say } from "./start-options.ts";
import { createStateRecord, type MeshState, readState, type StateRecord } from "./state/mesh-state.ts";
import { type StateFolder, stateFolder } from "./state/state-folder.ts";
import { stopMesh } from "./stop-mesh.ts";
import { tearDown } from "./tear-down.ts";

let folder: StateFolder;
let state: StateRecord;
let parts: MeshParts;
let said: string[];
const RUN = `control-${process.pid}`;

beforeEach(() => {
  folder = stateFolder(mkdtempSync(join(tmpdir(), "mesh-control-")));
  mkdirSync(folder.logs);
  said = [];
  applied = [];
  state = createStateRecord(folder.stateFile, {
    format: 1,
    runId: RUN,
    name: "shop",
    startedAt: "2026-01-01T00:00:00Z",
    parent: identifyProcess(process.pid) ?? { pid: 0, start: "" },
    controlSocket: join(folder.path, "socket"),
    program: { launcher: "", node: "" },
    namespaces: [],
    interfaces: [],
    resolverFolders: [],
    processes: {},
  });
  parts = createMeshParts(state, (_, text) => said.push(text));
});
afterEach(async () => {
  await parts.stop();
  rmSync(folder.path, { recursive: true, force: true });
});

function addPart(name: string, script = "exec sleep 60"): void {
  parts.add({
    name,
    command: ["/bin/sh", "-c", script],
    env: { PATH: process.env.PATH ?? "", PILOT_AGENT_MESH_RUN: RUN },
    directory: folder.path,
    logFile: folder.log(name),
    graceMs: 500,
  });
}

let applied: string[];
const files = {
  async apply({ text, isDryRun }: FileRequest, tell: Say) {
    applied.push(text);
    tell("info", isDryRun ? "would change" : "changes");
    if (text === "bad") throw new Error("mesh.yaml:1:1: bad");
    return ["web is not ready"];
  },
};
const serve = (status: () => Promise<MeshStatus>) =>
  startControlServer({
    path: state.current.controlSocket,
    parts,
    status,
    files,
    applyObjects: async () => ({ done: [], problems: [] }),
    followTraffic: async () => undefined,
  });
const pidOf = (name: string) => {
  const status = parts.find(name).status();
  return status.phase === "running" ? status.pid : undefined;
};

test("an end by itself is told with the last lines of the output, and the reason has the telling one", async () => {
  addPart("web/app", "echo one; echo 'Error: no database' >&2; echo '    at main.js:1'; exit 3");
  await until(() => said.length > 0);
  expect(said[0]).toBe(
    "web/app: exit code 3; starting it again in 0.1 s\n  web/app | one\n  web/app | Error: no database\n  web/app |     at main.js:1",
  );
  const status = () => parts.status("web/app");
  await until(() => status().phase === "waiting" || `phase is ${status().phase}`);
  expect(status()).toMatchObject({ reason: "exit code 3: Error: no database" });
});

test("parts are killed, stopped and started over the socket, and a wrong name is reported with the right ones", async () => {
  addPart("web/app");
  const server = await serve(async () => ({ name: "shop" }) as MeshStatus);
  const running = runningState(folder);
  expect(await askStatus(running)).toEqual({ name: "shop" });
  const pid = pidOf("web/app");
  expect(await actOnPart(running, "web/app", "kill")).toBe(pid);
  await until(() => pidOf("web/app") !== undefined && pidOf("web/app") !== pid);
  expect(said).toEqual(["web/app: ended by SIGKILL; starting it again in 0.1 s"]);
  await actOnPart(running, "web/app", "stop");
  expect(parts.find("web/app").status().phase).toBe("stopped");
  await expect(actOnPart(running, "web/app", "kill")).rejects.toThrow("web/app does not run now");
  await actOnPart(running, "web/app", "start");
  await until(() => pidOf("web/app") !== undefined);
  await expect(actOnPart(running, "shop/app", "kill")).rejects.toThrow("there is no shop/app; there are web/app");
  await server.stop();
});

test("a page of another server that something forwards to the socket is refused", async () => {
  const server = await serve(async () => ({ name: "shop" }) as MeshStatus);
  const headers = { origin: "http://evil.example" };
  const options = { socketPath: state.current.controlSocket, path: "/status", headers, agent: false };
  const status = await new Promise((resolve, reject) => {
    const sent = request(options, (response) => resolve(response.resume().statusCode));
    sent.on("error", reject).end();
  });
  expect(status).toBe(403);
  await server.stop();
});

test("a status that fails, and a mesh that does not answer, are errors with a reason", async () => {
  const server = await serve(() => Promise.reject(new Error("lost")));
  await expect(askStatus(state.current)).rejects.toThrow("lost");
  await server.stop();
  await expect(askStatus(state.current)).rejects.toThrow("mesh shop does not answer: it is still starting, or ending");
});

test("a mesh file is applied over the socket, each step reported as it is made", async () => {
  const server = await serve(async () => ({ name: "shop" }) as MeshStatus);
  const steps: string[] = [];
  const apply = (text: string, isDryRun: boolean) =>
    applyMeshFile(state.current, { text, fileName: "mesh.yaml", path: "/mesh.yaml", isDryRun }, (level, step) =>
      steps.push(`${level} ${step}`),
    );
  expect(await apply("services: {ä: {}}", false)).toEqual(["web is not ready"]);
  await expect(apply("bad", true)).rejects.toThrow("mesh.yaml:1:1: bad");
  expect(steps).toEqual(["info changes", "info would change"]);
  expect(applied).toEqual(["services: {ä: {}}", "bad"]);
  await server.stop();
  await expect(apply("", false)).rejects.toThrow(/mesh shop does not answer/);
});

test("a mesh whose process is gone does not run", () => {
  state.update({ parent: { pid: process.pid, start: "another time" } });
  expect(() => runningState(folder)).toThrow("has ended without cleaning up; pilot-agent mesh down does it");
});

test("every started process is in the state at once", () => {
  addPart("web/app");
  expect(readState(folder.stateFile)?.processes["web/app"]?.pid).toBe(pidOf("web/app"));
});

test("a removed part is gone with its process, from the state too, and one that is not there is stopped", async () => {
  addPart("web/app");
  const isAlive = lifeOf(pidOf("web/app"));
  await parts.remove("web/app");
  expect(isAlive()).toBe(false);
  expect(state.current.processes).toEqual({});
  expect(parts.status("web/app")).toEqual({ phase: "stopped", restarts: 0 });
  expect(() => parts.find("web/app")).toThrow("there is no web/app");
  await parts.remove("web/app");
  await parts.stop();
  // Nothing would end it any more.
  expect(() => addPart("late/app")).toThrow("interrupted");
});

test("a state that cannot be written is a warning, and the part runs", () => {
  rmSync(folder.path, { recursive: true });
  mkdirSync(folder.path);
  // A folder in the place of the file.
  mkdirSync(join(folder.stateFile, "x"), { recursive: true });
  addPart("web/app");
  expect(said.join()).toContain("cannot write");
  expect(pidOf("web/app")).toBeDefined();
});

test("tearing down ends processes that no one supervises any more and removes what was made", async () => {
  addPart("web/app", "trap '' TERM; while :; do sleep 1; done");
  for (const name of ["workloads/web", "config", "program", "ca"])
    mkdirSync(join(folder.path, name), { recursive: true });
  writeFileSync(state.current.controlSocket, "");
  const before: MeshState = state.current;
  const ended = parts.stop();
  const { problems } = await tearDown(folder, before);
  await ended;
  expect(problems).toEqual([]);
  expect(markedProcesses(RUN)).toEqual([]);
  expect(
    ["workloads", "config", "program", "socket", "state.json"].filter((name) => existsSync(join(folder.path, name))),
  ).toEqual([]);
  expect(["ca", "logs"].every((name) => existsSync(join(folder.path, name)))).toBe(true);
});

test("mesh down cleans up after a parent that is gone, once", async () => {
  state.update({ parent: { pid: process.pid, start: "another time" } });
  expect(await stopMesh(folder)).toMatchObject({ how: "by-state", problems: [] });
  await expect(stopMesh(folder)).rejects.toThrow("no mesh runs in");
});

test("applied objects are files of their own, replaced by their name and taken back", () => {
  const object = { kind: "VirtualService", namespace: "shop", name: "a/b", text: "one" };
  applyObjects(folder, [object]);
  applyObjects(folder, [{ ...object, text: "two" }]);
  expect(takeBackObjects(folder, [object, { ...object, name: "other" }])).toEqual([object]);
  expect(takeBackObjects(folder, [object])).toEqual([]);
});

test("a mesh whose socket is not there yet, or no more, is said to start or end", async () => {
  const why = "mesh shop does not answer: it is still starting, or ending";
  await expect(askStatus(state.current)).rejects.toThrow(why);
  const file = { text: "", fileName: "mesh.yaml", path: "/mesh.yaml", isDryRun: true };
  await expect(applyMeshFile(state.current, file, () => undefined)).rejects.toThrow(why);
});
