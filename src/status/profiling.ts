import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { getHeapSnapshot } from "node:v8";
import { wait } from "../base/wait.ts";
import { type Router, sendError, sendText } from "./router.ts";

const MAX_PROFILE_SECONDS = 300;
const DEFAULT_PROFILE_SECONDS = 30;

const PAGES = {
  profile: "CPU profile of ?seconds=30, for the Performance panel of a browser's tools (.cpuprofile)",
  heap: "heap snapshot, for the Memory panel (.heapsnapshot); stops the agent for about a second per 100 MB",
  cmdline: "the command line, its words separated by NUL",
  symbol: "for pprof clients: profiles carry their names themselves",
} as const;

/** Profiles in the formats that Node's tools read, under the paths where operators look for them. Loopback only. */
export function registerProfiling(router: Pick<Router, "route">): void {
  let isBusy = false;
  /** One at a time: profiles taken together would show each other. */
  const alone =
    (handler: (request: IncomingMessage, response: ServerResponse) => Promise<void>) =>
    async (request: IncomingMessage, response: ServerResponse) => {
      if (isBusy) return sendError(response, 503, "another profile is being taken");
      isBusy = true;
      await handler(request, response).finally(() => {
        isBusy = false;
      });
    };
  const loopbackOnly = { loopbackOnly: true };
  router.route(
    "*",
    "/debug/pprof/",
    (_request, response, path) => {
      if (path !== "/debug/pprof/") return sendError(response, 404, "404 page not found");
      response.setHeader("Content-Type", "text/plain; charset=utf-8");
      const lines = Object.entries(PAGES).map(([name, text]) => `/debug/pprof/${name}\t${text}\n`);
      sendText(response, 200, lines.join(""));
    },
    loopbackOnly,
  );
  router.route(
    "*",
    "/debug/pprof/cmdline",
    (_request, response) => {
      response.setHeader("Content-Type", "text/plain; charset=utf-8");
      sendText(response, 200, readFileSync("/proc/self/cmdline", "utf8").replace(/\0$/, ""));
    },
    loopbackOnly,
  );
  router.route(
    "*",
    "/debug/pprof/symbol",
    (_request, response) => sendText(response, 200, "num_symbols: 0\n"),
    loopbackOnly,
  );
  router.route("*", "/debug/pprof/profile", alone(sendCpuProfile), loopbackOnly);
  router.route("*", "/debug/pprof/heap", alone(sendHeapSnapshot), loopbackOnly);
}

async function sendCpuProfile(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const given = new URLSearchParams((request.url ?? "").split("?")[1]).get("seconds");
  const seconds = given === null ? DEFAULT_PROFILE_SECONDS : Number(given);
  if (!(seconds > 0 && seconds <= MAX_PROFILE_SECONDS)) {
    return sendError(
      response,
      400,
      `seconds is ${JSON.stringify(given)}, allowed are numbers above 0 and up to ${MAX_PROFILE_SECONDS}`,
    );
  }
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  // Loaded when first asked for: the inspector costs every agent memory, and hardly any is ever profiled.
  const { Session } = await import("node:inspector/promises");
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
    await wait(seconds * 1000, gone.signal);
    const { profile } = await session.post("Profiler.stop");
    response.setHeader("Content-Type", "application/json");
    response.setHeader("Content-Disposition", 'attachment; filename="pilot-agent.cpuprofile"');
    sendText(response, 200, JSON.stringify(profile));
  } finally {
    session.disconnect();
  }
}

async function sendHeapSnapshot(_request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.setHeader("Content-Type", "application/json");
  response.setHeader("Content-Disposition", 'attachment; filename="pilot-agent.heapsnapshot"');
  // Streamed: as one text it would need its size a second time. A caller that leaves early is no failure.
  await pipeline(getHeapSnapshot(), response).catch(() => undefined);
}
