import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { getHeapSnapshot } from "node:v8";
import { errorMessage } from "../base/coded-error.ts";
import type { Handle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { wait } from "../base/wait.ts";
import {
  type AnswerHead,
  errorText,
  type HttpAnswer,
  type HttpHandler,
  type HttpRequest,
  text,
} from "../net/http-server/http-types.ts";
import { refuseForeignPages } from "../net/http-server/local-caller.ts";
import { createRouteTable } from "../net/http-server/route-table.ts";
import { startHttpServer } from "../net/http-server/start-http-server.ts";

export interface ProfilingOptions {
  readonly path: string;
  readonly log: Logger;
  /** By default of this process. */
  readonly openHeapSnapshot?: () => Readable | Promise<Readable>;
}

const MAX_PROFILE_SECONDS = 300;
const DEFAULT_PROFILE_SECONDS = 30;

const PAGES = {
  profile: "CPU profile of ?seconds=30, for the Performance panel of a browser's tools (.cpuprofile)",
  heap: "heap snapshot, for the Memory panel (.heapsnapshot); stops the agent for about a second per 100 MB",
} as const;

/**
 * Profiles in the formats that Node's tools read, for root and the agent's user: the socket file's mode keeps others out. Undefined, with
 * a line in the log, when the path cannot be used: a tool for finding faults must not become one.
 */
export async function startProfilingSocket(options: ProfilingOptions): Promise<Handle | undefined> {
  const { path, log } = options;
  const table = createRouteTable();
  const alone = oneAtATime();
  table.route("GET", "/debug/pprof/", ({ path: asked }) =>
    asked === "/debug/pprof/" ? text(200, index()) : errorText(404, "404 page not found"),
  );
  table.route("GET", "/debug/pprof/profile", alone(cpuProfile));
  table.route("GET", "/debug/pprof/heap", alone(heapSnapshot(options.openHeapSnapshot ?? getHeapSnapshot)));
  try {
    const server = await startHttpServer({
      listen: [{ path, mode: 0o600 }],
      handler: table.handle,
      check: refuseForeignPages,
      log,
    });
    log.warn("profiles are served to root and to this user", { socket: path });
    return server;
  } catch (thrown) {
    log.error("no profiles: the socket of PROFILING_SOCKET cannot be opened", { path, error: errorMessage(thrown) });
    return undefined;
  }
}

function index(): string {
  return Object.entries(PAGES)
    .map(([name, about]) => `/debug/pprof/${name}\t${about}\n`)
    .join("");
}

/** Profiles taken together would show each other. */
function oneAtATime() {
  let isBusy = false;
  return (handler: (request: HttpRequest) => Promise<HttpAnswer | undefined>): HttpHandler =>
    async (request) => {
      if (isBusy) return errorText(503, "another profile is being taken");
      isBusy = true;
      return handler(request).finally(() => {
        isBusy = false;
      });
    };
}

async function cpuProfile({ query, closed }: HttpRequest): Promise<HttpAnswer> {
  const given = query.get("seconds");
  const seconds = given === null ? DEFAULT_PROFILE_SECONDS : Number(given);
  if (!(seconds > 0 && seconds <= MAX_PROFILE_SECONDS)) {
    const allowed = `allowed are numbers above 0 and up to ${MAX_PROFILE_SECONDS}`;
    return errorText(400, `seconds is ${JSON.stringify(given)}, ${allowed}`);
  }
  // Loaded when first asked for: the inspector costs every agent memory, and hardly any is ever profiled.
  const { Session } = await import("node:inspector/promises");
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
    await wait(seconds * 1000, closed);
    const { profile } = await session.post("Profiler.stop");
    return { ...attachment("pilot-agent.cpuprofile"), body: JSON.stringify(profile) };
  } finally {
    session.disconnect();
  }
}

function heapSnapshot(open: () => Readable | Promise<Readable>) {
  return async (request: HttpRequest): Promise<undefined> => {
    // Streamed: as one text it would need its size a second time. A caller that leaves early is not a failure.
    const snapshot = await open();
    await pipeline(snapshot, request.stream(attachment("pilot-agent.heapsnapshot"))).catch(() => undefined);
  };
}

function attachment(file: string): AnswerHead {
  const headers = { "Content-Disposition": `attachment; filename="${file}"` };
  return { status: 200, contentType: "application/json", headers };
}
