import { chmodSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { errorMessage } from "../base/coded-error.ts";
import type { FileApplier, FileRequest } from "./apply-mesh-file.ts";
import { MeshError } from "./mesh-error.ts";
import type { MeshParts } from "./mesh-parts.ts";
import type { MeshStatus } from "./mesh-status.ts";
import { envoysOf } from "./process/mesh-processes.ts";

export interface ControlServerOptions {
  /** A socket that only its owner can use. */
  readonly path: string;
  readonly parts: MeshParts;
  status(): Promise<MeshStatus>;
  readonly files: Pick<FileApplier, "apply">;
}

/**
 * What the other commands ask a running mesh: GET /status, POST /parts/NAME?do=stop|start|kill, and POST /file with a mesh file, which is
 * answered by a line for each step.
 */
export async function startControlServer(options: ControlServerOptions): Promise<{ stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    const answered =
      request.url === "/file"
        ? applyFile(options, request, response)
        : answer(options, request).then((body) => send(response, 200, body));
    answered.catch((thrown: unknown) =>
      send(response, thrown instanceof MeshError ? 404 : 500, { error: errorMessage(thrown) }),
    );
  });
  await new Promise<void>((ready, failed) => {
    // It stays: without a descriptor left a connection is lost, the mesh is not.
    server.on("error", failed);
    server.listen(options.path, ready);
  });
  chmodSync(options.path, 0o600);
  return {
    stop: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

async function answer({ parts, status }: ControlServerOptions, { method, url }: IncomingMessage): Promise<unknown> {
  const { pathname, searchParams } = new URL(url ?? "", "http://mesh");
  if (method === "GET" && pathname === "/status") return status();
  const name = decodeURIComponent(pathname.replace(/^\/parts\//, ""));
  if (method !== "POST") throw new MeshError("unknown-part", `${method} ${pathname} is not known here`);
  switch (searchParams.get("do")) {
    case "stop":
      await parts.find(name).stop();
      return { stopped: name };
    case "start":
      parts.find(name).start();
      return { started: name };
    case "kill":
      return { killed: kill(parts, name) };
    default:
      throw new MeshError("unknown-part", "expected do=stop, do=start or do=kill");
  }
}

/** A line of the answer to POST /file; the last one says what is wrong, or how it ended. */
export type FileStep =
  | { readonly level: "info" | "warn" | "error"; readonly text: string }
  | { readonly done: readonly string[] }
  | { readonly error: string };

/** The caller may go away: what was begun is brought to its end all the same. */
async function applyFile(
  { files }: ControlServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const write = (step: FileStep) => void response.write(`${JSON.stringify(step)}\n`);
  response.on("error", () => undefined);
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  try {
    const done = await files.apply(JSON.parse(text) as FileRequest, (level, line) => write({ level, text: line }));
    write({ done });
  } catch (thrown) {
    write({ error: errorMessage(thrown) });
  }
  response.end();
}

/** Envoy is the agent's child, not a part of its own: the agent has to bring it back. */
function kill(parts: MeshParts, name: string): number | undefined {
  const [, workload] = /^(.+)\/envoy$/.exec(name) ?? [];
  const part = parts.find(workload === undefined ? name : `${workload}/agent`);
  const status = part.status();
  if (status.phase !== "running") throw new MeshError("unknown-part", `${name} does not run now`);
  if (workload === undefined) {
    part.kill("SIGKILL");
    return status.pid;
  }
  const [envoy] = envoysOf(status.pid);
  if (envoy === undefined) throw new MeshError("unknown-part", `${name} does not run now`);
  process.kill(envoy, "SIGKILL");
  return envoy;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
