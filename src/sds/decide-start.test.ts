import { lstat, mkdir, writeFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type TemporaryFolder, temporaryFolder } from "../../test/support/files/temporary-folder.ts";
import { type RecordedLog, recordLog } from "../../test/support/log/recording-log.ts";
import { silentLogger } from "../base/logger.ts";
import { startGrpcServer } from "../grpc/server/start-grpc-server.ts";
import { decideSdsStart, type SdsStartOptions } from "./decide-start.ts";
import { probeSocket } from "./probe-socket.ts";

let directory: TemporaryFolder;
let log: RecordedLog;
const at = (...parts: string[]) => join(directory.path, ...parts);

beforeEach(async () => {
  directory = temporaryFolder();
  log = recordLog();
});
afterEach(() => directory[Symbol.asyncDispose]());

const decide = (given: Partial<SdsStartOptions> = {}) =>
  decideSdsStart({
    workloadDirectory: at(),
    credentialDirectory: at("credential"),
    socketName: "socket",
    generation: "serve-files",
    log,
    ...given,
  });

const externalServer = (name = "socket") =>
  startGrpcServer({ listen: { path: at(name) }, methods: [], log: silentLogger });

/** Accepts connections and never says a word. */
async function muteListener(path: string): Promise<AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test("without anybody else the agent serves the workload itself", async () => {
  await expect(decide()).resolves.toEqual({ mode: "workload", listenPath: at("socket") });
});

test("beside a live external server the agent serves files on a socket of its own", async () => {
  await using _external = await externalServer();
  await expect(decide()).resolves.toEqual({
    mode: "files-only",
    listenPath: at("credential", "files-socket"),
    externalPath: at("socket"),
  });
  expect(log.printed).toEqual([
    `info Existing workload SDS socket found at ${at("socket")}. Default Istio SDS Server will only serve files`,
  ]);
});

test("the 1.20 rule leaves everything to the external server", async () => {
  await using _external = await externalServer();
  await expect(decide({ generation: "serve-nothing" })).resolves.toMatchObject({ mode: "external" });
});

test("an external server under another name is found, and required", async () => {
  {
    await using _external = await externalServer("other");
    await expect(decide({ socketName: "other" })).resolves.toMatchObject({ mode: "files-only" });
  }
  await expect(decide({ socketName: "other" })).rejects.toMatchObject({
    code: "no-external-server",
    message: `agent configured for non-default SDS socket path: ${at("other")} but no socket found`,
  });
  await expect(decide({ requireExternal: true })).rejects.toThrow("workload SDS socket is required but not found");
});

test("a socket name with a path is refused", async () => {
  await expect(decide({ socketName: "a/b" })).rejects.toMatchObject({
    code: "bad-socket-name",
    message: "workload identity socket file override must be a filename, not a path: a/b",
  });
});

test("a listener that accepts and never speaks HTTP/2 is dead, and its file is removed", async () => {
  await using _mute = await muteListener(at("socket"));
  await expect(probeSocket(at("socket"), 100)).resolves.toBe("absent");
  await expect(lstat(at("socket"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("a regular file counts as absent and is left alone", async () => {
  await writeFile(at("socket"), "text");
  await expect(probeSocket(at("socket"))).resolves.toBe("absent");
  await expect(lstat(at("socket"))).resolves.toBeDefined();
});

test("an empty directory, as container engines make for a missing mount, is removed", async () => {
  await mkdir(at("socket"));
  await expect(probeSocket(at("socket"))).resolves.toBe("absent");
  await expect(lstat(at("socket"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("something dead that cannot be removed fails the start", async () => {
  await mkdir(at("socket", "full"), { recursive: true });
  await expect(probeSocket(at("socket"))).rejects.toMatchObject({
    code: "socket-in-the-way",
    message: expect.stringContaining("failed to check SDS socket: existing SDS socket could not be removed"),
  });
});
