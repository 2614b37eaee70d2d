import { isJsonObject } from "../base/json-object.ts";
import { HttpError, type HttpHandler, type HttpRequest, json } from "../net/http-server/http-types.ts";
import { createRouteTable, type RouteTable } from "../net/http-server/route-table.ts";
import type { ActionDesk } from "./action-desk.ts";
import type {
  ActionRequest,
  LogLevelChange,
  LogLevels,
  LogLines,
  RequestBatch,
  RequestLine,
  Session,
  WorkloadDetail,
} from "./api.ts";
import { parseAccessLog, passes, RequestSampler } from "./core/access-log.ts";
import type { History } from "./core/history.ts";
import type { EventHub } from "./event-hub.ts";
import { openLineStream } from "./line-stream.ts";
import type { ObjectDesk } from "./object-desk.ts";
import type { Sampler } from "./sampler.ts";
import type { ConsoleSources, SourceWorkload } from "./sources.ts";
import { readWorkloadDetail } from "./workload-details.ts";

export interface ApiParts {
  readonly sources: ConsoleSources;
  readonly sampler: Sampler;
  readonly hub: EventHub;
  readonly history: History;
  readonly actions: ActionDesk;
  /** Undefined where there are none. */
  readonly objects: ObjectDesk | undefined;
  session(): Session;
  now(): number;
}

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_TAIL = 2000;
const DEFAULT_TAIL = 200;
const ASK = { timeoutMs: 5000, maxBytes: 1024 * 1024 };
/** Loudest first, as Envoy names them. */
const LEVELS = ["trace", "debug", "info", "warning", "error", "critical", "off"];

/** Every path below `/api/`; see `api.ts` for what they take and give. */
export function createApiRoutes(parts: ApiParts): RouteTable {
  const { sources, sampler, hub, history, actions } = parts;
  const table = createRouteTable(({ method, path }) => {
    throw new HttpError(404, `${method} ${path} is not known here`);
  });
  const objects = () => {
    if (parts.objects === undefined) throw new HttpError(404, "there are no objects here");
    return parts.objects;
  };
  const get = (path: string, handler: HttpHandler) => table.route("GET", path, handler);
  const post = (
    path: string,
    handler: (body: unknown, parameters: Readonly<Record<string, string>>) => Promise<unknown>,
    status = 200,
  ) =>
    table.route("POST", path, async (request, parameters) =>
      json(await handler(await readBody(request), parameters), status),
    );

  get("/api/session", () => json(parts.session()));
  get("/api/events", (request) => void hub.open(request));
  get("/api/graph", async () =>
    json(
      sampler.isRunning ? (JSON.parse(hub.last("graph") ?? "null") ?? (await sampler.round())) : await sampler.round(),
    ),
  );
  get("/api/history", ({ query }) =>
    json(history.read(timeIn(query, "from", 0), timeIn(query, "to", Number.MAX_SAFE_INTEGER))),
  );

  get("/api/workloads", async () => {
    if (!sampler.isRunning) await sampler.round();
    return json(sampler.workloads());
  });
  get("/api/workloads/{id}", async (_, { id = "" }) => {
    const workload = find(sources, id);
    if (!sampler.isRunning) await sampler.round();
    return json(await detailOf(workload, parts));
  });
  get("/api/workloads/{id}/logs", (request, { id = "" }) => followLogs(request, find(sources, id), sources));
  get("/api/workloads/{id}/log-levels", async (_, { id = "" }) =>
    json(await logLevels(find(sources, id), "/envoy/logging")),
  );
  post("/api/workloads/{id}/log-levels", async (body, { id = "" }) =>
    logLevels(find(sources, id), levelPath(body as LogLevelChange)),
  );
  get("/api/requests", (request) => followRequests(request, parts));

  get("/api/actions", () => json(actions.list()));
  post("/api/actions/preview", (body) => actions.preview(body as ActionRequest));
  post("/api/actions", (body) => actions.apply(body as ActionRequest), 201);
  post("/api/actions/{id}/undo", (_, { id = "" }) => actions.undo(id));

  get("/api/objects", async () => json(await objects().list()));
  get("/api/objects/{kind}/{namespace}/{name}", async (_, name) => json(await objects().read(nameOf(name))));
  table.route("DELETE", "/api/objects/{kind}/{namespace}/{name}", async (_, name) =>
    json(await objects().remove(nameOf(name))),
  );
  post("/api/objects/validate", async (body) => objects().validate(...textOf(body)));
  post("/api/objects", async (body) => objects().apply(...textOf(body)));
  get("/api/schemas", () => json(objects().schemas()));
  get("/api/schemas/{kind}", (_, { kind = "" }) => json(objects().schema(kind)));
  return table;
}

/** A page of another server can send forms without asking, but not this type. */
async function readBody(request: HttpRequest): Promise<unknown> {
  const type = request.headers["content-type"] ?? "";
  if (!/^application\/json\b/i.test(type))
    throw new HttpError(415, `Content-Type is ${JSON.stringify(type)}, expected application/json`);
  const text = (await request.body(MAX_BODY_BYTES)).toString("utf8");
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    if (isJsonObject(value)) return value;
  } catch {
    // Said below.
  }
  throw new HttpError(400, "the body is not a JSON object");
}

function textOf(body: unknown): [yaml: string, analyzes: boolean] {
  const { yaml, analyze } = body as { readonly yaml?: unknown; readonly analyze?: unknown };
  if (typeof yaml !== "string") throw new HttpError(400, "yaml is missing; expected the text of the objects");
  return [yaml, analyze !== false];
}

function nameOf({ kind = "", namespace = "", name = "" }: Readonly<Record<string, string>>) {
  return { kind, namespace, name };
}

function timeIn(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name);
  if (text === null || text === "") return otherwise;
  const value = Number(text);
  if (Number.isFinite(value)) return value;
  throw new HttpError(400, `${name} is ${JSON.stringify(text)}, expected milliseconds since 1970`);
}

function find(sources: ConsoleSources, id: string): SourceWorkload {
  const workloads = sources.workloads();
  const found = workloads.find((workload) => workload.id === id);
  if (found === undefined)
    throw new HttpError(
      404,
      `there is no workload ${JSON.stringify(id)}; there are ${workloads.map((each) => each.id).join(", ")}`,
    );
  return found;
}

async function detailOf(workload: SourceWorkload, { sources, sampler, now }: ApiParts): Promise<WorkloadDetail> {
  const summary = sampler.workloads().find(({ id }) => id === workload.id);
  if (summary === undefined) throw new HttpError(404, `${workload.id} is gone`);
  return readWorkloadDetail({ source: workload, summary, agent: sampler.agentOf(workload.id), sources, at: now() });
}

function followLogs(request: HttpRequest, { id }: SourceWorkload, { logs }: ConsoleSources): undefined {
  if (logs === undefined) throw new HttpError(404, "there are no logs here");
  const part = request.query.get("part") ?? "agent";
  if (part !== "app" && part !== "agent")
    throw new HttpError(400, `part is ${JSON.stringify(part)}, allowed are app and agent`);
  const asked = Number(request.query.get("tail") ?? DEFAULT_TAIL);
  const tail = Number.isFinite(asked) ? Math.min(MAX_TAIL, Math.max(0, asked)) : DEFAULT_TAIL;
  const stream = openLineStream<string>(request, {
    event: "lines",
    maxItems: MAX_TAIL,
    everyMs: 150,
    toData: (lines, dropped): LogLines => ({ lines, dropped }),
  });
  void logs
    .follow(id, part, { tail, signal: request.closed, onLines: (lines) => stream.add(lines) })
    .catch(() => request.abort());
  return undefined;
}

/** Access logs that Envoys write anyway, read from their end on while somebody looks. */
function followRequests(request: HttpRequest, { sources, now }: ApiParts): undefined {
  const { logs } = sources;
  if (logs === undefined) throw new HttpError(404, "there are no access logs here");
  const wanted = request.query.get("workload") ?? "";
  const workloads = wanted === "" ? sources.workloads() : [find(sources, wanted)];
  const direction = request.query.get("direction") ?? (wanted === "" ? "inbound" : "");
  if (!["", "inbound", "outbound"].includes(direction))
    throw new HttpError(400, `direction is ${JSON.stringify(direction)}, allowed are inbound and outbound`);
  const filter = { direction, to: request.query.get("to") ?? "" };
  const sampler = new RequestSampler();
  let skipped = 0;
  const stream = openLineStream<RequestLine>(request, {
    event: "requests",
    maxItems: 500,
    everyMs: 250,
    toData: (requests, dropped): RequestBatch => {
      const batch = { requests, skipped: skipped + dropped };
      skipped = 0;
      return batch;
    },
  });
  for (const { id } of workloads) {
    const onLines = (lines: readonly string[]) => {
      const found = lines.flatMap((line) => parseAccessLog(line, id) ?? []).filter((each) => passes(each, filter));
      const sampled = sampler.take(found, now());
      skipped += sampled.skipped;
      stream.add(sampled.shown.map((each) => withCaller(each, sources)));
    };
    void logs.follow(id, "agent", { tail: 0, signal: request.closed, onLines }).catch(() => request.abort());
  }
  return undefined;
}

/** Where the line does not say whom a certificate has named: the workload at the caller's address, or the one whose Envoy sends. */
function withCaller(line: RequestLine, sources: ConsoleSources): RequestLine {
  if (line.caller !== undefined) return line;
  const workloads = sources.workloads();
  const address = line.downstreamAddress?.replace(/:\d+$/, "");
  const caller =
    line.direction === "outbound"
      ? workloads.find(({ id }) => id === line.workload)
      : workloads.find((each) => each.address === address);
  const name = caller?.identity ?? caller?.name;
  return name === undefined ? line : { ...line, caller: name };
}

function levelPath({ logger, level }: LogLevelChange): string {
  if (!LEVELS.includes(level))
    throw new HttpError(400, `level is ${JSON.stringify(level)}, allowed are ${LEVELS.join(", ")}`);
  if (logger !== undefined && !/^[a-z0-9_]+$/.test(logger))
    throw new HttpError(400, `logger is ${JSON.stringify(logger)}, expected one of Envoy's`);
  return `/envoy/logging?${logger ?? "level"}=${level}`;
}

async function logLevels({ access, unreachable }: SourceWorkload, path: string): Promise<LogLevels> {
  if (access === undefined) throw new HttpError(404, unreachable ?? "it cannot be asked from here");
  const { status, body } = await access.post(path, ASK);
  if (status !== 200)
    throw new HttpError(status === 404 ? 404 : 400, body.trim().split("\n")[0] || `Envoy answers ${status}`);
  const levels = body.split("\n").flatMap((line) => {
    const [, name, level] = /^\s+([a-z0-9_]+): (\w+)$/.exec(line) ?? [];
    return name === undefined || level === undefined ? [] : [[name, level] as const];
  });
  return { levels: Object.fromEntries(levels), known: LEVELS };
}
