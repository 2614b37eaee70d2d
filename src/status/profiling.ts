import { pipeline } from "node:stream/promises";
import { getHeapSnapshot } from "node:v8";
import { wait } from "../base/wait.ts";
import {
  type AnswerHead,
  errorText,
  type HttpAnswer,
  type HttpHandler,
  type HttpRequest,
} from "../net/http-server/http-types.ts";
import { plainText } from "./endpoints.ts";
import type { StatusRoutes } from "./status-routes.ts";

const MAX_PROFILE_SECONDS = 300;
const DEFAULT_PROFILE_SECONDS = 30;

const PAGES = {
  profile: "CPU profile of ?seconds=30, for the Performance panel of a browser's tools (.cpuprofile)",
  heap: "heap snapshot, for the Memory panel (.heapsnapshot); stops the agent for about a second per 100 MB",
  cmdline: "the command line, its words separated by NUL",
  symbol: "for pprof clients: profiles carry their names themselves",
} as const;

/** Profiles in the formats that Node's tools read, under the paths where operators look for them. Loopback only. */
export function registerProfiling(routes: Pick<StatusRoutes, "route">): void {
  let isBusy = false;
  /** One at a time: profiles taken together would show each other. */
  const alone =
    (handler: (request: HttpRequest) => Promise<HttpAnswer | undefined>): HttpHandler =>
    async (request) => {
      if (isBusy) return errorText(503, "another profile is being taken");
      isBusy = true;
      return handler(request).finally(() => {
        isBusy = false;
      });
    };
  const add = (page: string, handler: HttpHandler) =>
    routes.route("*", `/debug/pprof/${page}`, handler, { loopbackOnly: true });
  add("", ({ path }) => {
    if (path !== "/debug/pprof/") return errorText(404, "404 page not found");
    return plainText(
      Object.entries(PAGES)
        .map(([name, text]) => `/debug/pprof/${name}\t${text}\n`)
        .join(""),
    );
  });
  add("cmdline", () => plainText([process.execPath, ...process.execArgv, ...process.argv.slice(1)].join("\0")));
  add("symbol", () => ({ status: 200, body: "num_symbols: 0\n" }));
  add("profile", alone(cpuProfile));
  add("heap", alone(sendHeapSnapshot));
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

async function sendHeapSnapshot(request: HttpRequest): Promise<undefined> {
  // Streamed: as one text it would need its size a second time. A caller that leaves early is not a failure.
  await pipeline(getHeapSnapshot(), request.stream(attachment("pilot-agent.heapsnapshot"))).catch(() => undefined);
}

function attachment(file: string): AnswerHead {
  const headers = { "Content-Disposition": `attachment; filename="${file}"` };
  return { status: 200, contentType: "application/json", headers };
}
