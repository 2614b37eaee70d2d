import { errorMessage } from "../base/coded-error.ts";
import { silentLogger } from "../base/logger.ts";
import type { GraphSnapshot } from "../console/index.ts";
import { type HttpAnswer, type HttpHandler, json } from "../net/http-server/http-types.ts";
import { refuseForeignPages } from "../net/http-server/local-caller.ts";
import { createRouteTable } from "../net/http-server/route-table.ts";
import { startHttpServer } from "../net/http-server/start-http-server.ts";
import type { FileApplier, FileRequest } from "./apply-mesh-file.ts";
import type { ObjectAnswer, ObjectRequest } from "./apply-objects.ts";
import { killPart } from "./kill-part.ts";
import { MeshError } from "./mesh-error.ts";
import type { MeshParts } from "./mesh-parts.ts";
import type { MeshStatus } from "./mesh-status.ts";

export interface ControlServerOptions {
  /** A socket that only its owner can use. */
  readonly path: string;
  readonly parts: MeshParts;
  status(): Promise<MeshStatus>;
  readonly files: Pick<FileApplier, "apply">;
  /** Calls with the figures of all edges, every two seconds until the signal. */
  followTraffic(onGraph: (graph: GraphSnapshot) => void, signal: AbortSignal): Promise<void>;
  /** Rejects, with nothing changed, while the control plane is away. */
  applyObjects(request: ObjectRequest): Promise<ObjectAnswer>;
}

/** A mesh file with everything in it is a few hundred kilobytes. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

/**
 * What the other commands ask a running mesh: GET /status, POST /parts/NAME?do=stop|start|kill, POST /objects with Istio objects,
 * POST /file with a mesh file, which is answered by a line for each step, and GET /traffic, by one for each snapshot.
 */
export async function startControlServer(options: ControlServerOptions): Promise<{ stop(): Promise<void> }> {
  const table = createRouteTable(({ method, path }) => unknown(`${method} ${path} is not known here`));
  table.route("GET", "/status", async () => json(await options.status()));
  table.route("POST", "/parts/{name}", async ({ query }, { name = "" }) => json(await act(options, name, query)));
  table.route("POST", "/file", applyFile(options));
  table.route("GET", "/traffic", sendTraffic(options));
  table.route("POST", "/objects", async (request) => {
    const text = (await request.body(MAX_FILE_BYTES)).toString("utf8");
    return json(await options.applyObjects(JSON.parse(text) as ObjectRequest));
  });
  return startHttpServer({
    listen: [{ path: options.path, mode: 0o600 }],
    handler: table.handle,
    check: refuseForeignPages,
    onFailure: (thrown) =>
      thrown instanceof MeshError ? unknown(errorMessage(thrown)) : json({ error: errorMessage(thrown) }, 500),
    log: silentLogger,
  });
}

function unknown(error: string): HttpAnswer {
  return json({ error }, 404);
}

async function act({ parts }: ControlServerOptions, name: string, query: URLSearchParams): Promise<unknown> {
  switch (query.get("do")) {
    case "stop":
      await parts.find(name).stop();
      return { stopped: name };
    case "start":
      parts.find(name).start();
      return { started: name };
    case "kill":
      return { killed: killPart(parts, name) };
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
function applyFile({ files }: ControlServerOptions): HttpHandler {
  return async (request) => {
    const text = (await request.body(MAX_FILE_BYTES)).toString("utf8");
    const output = request.stream({ status: 200, contentType: "application/x-ndjson" });
    output.on("error", () => undefined);
    const write = (step: FileStep) => void output.write(`${JSON.stringify(step)}\n`);
    try {
      const done = await files.apply(JSON.parse(text) as FileRequest, (level, line) => write({ level, text: line }));
      write({ done });
    } catch (thrown) {
      write({ error: errorMessage(thrown) });
    }
    output.end();
    return undefined;
  };
}

function sendTraffic({ followTraffic }: ControlServerOptions): HttpHandler {
  return async (request) => {
    const ending = new AbortController();
    const output = request.stream({ status: 200, contentType: "application/x-ndjson" });
    output.on("error", () => ending.abort());
    output.on("close", () => ending.abort());
    await followTraffic((graph) => void output.write(`${JSON.stringify(graph)}\n`), ending.signal);
    output.end();
    return undefined;
  };
}
