import { randomBytes } from "node:crypto";
import { CloseStack } from "../base/close-stack.ts";
import { errorCode, errorMessage } from "../base/coded-error.ts";
import { toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { joinHostPort } from "../net/host-port.ts";
import {
  errorText,
  type HttpAnswer,
  HttpError,
  type HttpHandler,
  type HttpRequest,
} from "../net/http-server/http-types.ts";
import { type HttpServer, startHttpServer } from "../net/http-server/start-http-server.ts";
import { isLoopback } from "../net/ip.ts";
import { createActionDesk } from "./action-desk.ts";
import { actionKinds } from "./action-request.ts";
import type { ApiError, HistoryMark, MeshState, Session } from "./api.ts";
import { createApiRoutes } from "./api-routes.ts";
import { type Access, createAccess } from "./core/access.ts";
import { HISTORY_MS, History } from "./core/history.ts";
import { stateMarks } from "./core/state-marks.ts";
import { createEventHub } from "./event-hub.ts";
import { createObjectDesk, type ObjectDesk } from "./object-desk.ts";
import { RefusedText } from "./object-text.ts";
import type { Console, ConsoleOptions } from "./options.ts";
import { createPageFiles, PAGE_HEADERS } from "./page-files.ts";
import { createSampler, INTERVAL_MS } from "./sampler.ts";
import type { ConsoleSources } from "./sources.ts";

/** Ports that are tried one after the other when the wanted one is taken. */
const PORT_TRIES = 20;
/** Pages have two or three connections each. */
const MAX_CONNECTIONS = 512;

/** Serves the page and its API. Nothing is asked of agents while no page is open and no ramp is under way. */
export async function startConsole(options: ConsoleOptions): Promise<Console> {
  const { sources, log, now = Date.now, intervalMs = INTERVAL_MS } = options;
  const token = options.token ?? randomBytes(24).toString("base64url");
  await using opened = new CloseStack();
  const history = new History();
  let lastState: MeshState | undefined;
  let objectsRevision = "";
  const hub = createEventHub(() => tend());
  const onMark = (mark: HistoryMark) => history.mark(mark);
  const sampler = opened.add(
    createSampler({
      sources,
      intervalMs,
      now,
      onGraph: (graph) => {
        history.add(graph);
        hub.publish("graph", graph);
        actions.onGraph(graph);
        tend();
      },
      onObjects: (revision) => {
        if (revision === objectsRevision) return;
        objectsRevision = revision;
        hub.publish("objects", { revision });
      },
      onState: (state) => {
        for (const mark of stateMarks(lastState, state)) onMark(mark);
        if (lastState === undefined || !isSameState(lastState, state)) hub.publish("state", state);
        lastState = state;
      },
    }),
  );
  let objects: ObjectDesk | undefined;
  const actions = opened.add(
    createActionDesk({
      sources,
      objects: () => objects,
      book: options.book.read(),
      save: (book) => {
        try {
          options.book.save(book);
        } catch (thrown) {
          log.warn("actions of the console cannot be recorded: they do not end by themselves after a restart", {
            error: errorMessage(thrown),
          });
        }
      },
      now,
      onChange: () => {
        hub.publish("actions", actions.list());
        tend();
      },
      onMark,
    }),
  );
  objects =
    sources.objects &&
    createObjectDesk({
      source: sources.objects,
      namespace: sources.identity.namespace,
      actionOf: actions.actionOf,
      onChange: actions.release,
    });
  hub.publish("actions", actions.list());
  const tend = () => {
    if (hub.readers > 0 || actions.needsFigures) sampler.run();
    else {
      sampler.pause();
      // The next page would show it as if it was of now.
      hub.forget("graph");
    }
  };
  const session = (): Session => sessionOf(sources, now(), intervalMs);
  const routes = createApiRoutes({ sources, sampler, hub, history, actions, objects, session, now });
  const server = opened.add(
    await listen(options, (access) => createHandler(access, routes.handle, createPageFiles(options.pageFolder)), token),
  );
  tend();
  const url = `http://${joinHostPort(shownHost(options.listen.host), server.port)}/`;
  const owned = opened.move();
  return toHandle({ url, link: `${url}?token=${token}`, ended: server.ended, stop: () => owned.close() });
}

/** The handler needs to know the port, which is known when it is bound. */
async function listen(
  { listen: wanted, takesNextPort, log }: ConsoleOptions,
  handlerFor: (access: Access) => HttpHandler,
  token: string,
): Promise<HttpServer> {
  const { host } = wanted;
  for (let port = wanted.port; ; port += 1) {
    let handler: HttpHandler = () => errorText(503, "the console is starting");
    try {
      const server = await startHttpServer({
        listen: [{ host, port }],
        handler: (request, parameters) => handler(request, parameters),
        headers: PAGE_HEADERS,
        encodes: true,
        limits: { maxConnections: MAX_CONNECTIONS },
        onFailure: (thrown, { path }) => failure(thrown, path, log),
        log,
      });
      handler = handlerFor(createAccess({ token, port: server.port, ...(isLoopback(host) ? {} : { host }) }));
      return server;
    } catch (thrown) {
      if (errorCode(thrown) !== "address-in-use" || !takesNextPort || port >= wanted.port + PORT_TRIES) throw thrown;
    }
  }
}

/** Who may ask comes before what is asked. */
function createHandler(access: Access, api: HttpHandler, page: HttpHandler): HttpHandler {
  return async (request, parameters) => {
    const refusal = access.refusal(request);
    if (refusal !== undefined) return problem(403, { error: refusal });
    const isApi = request.path === "/api" || request.path.startsWith("/api/");
    if (!isApi) return enter(request, access) ?? page(request, parameters);
    if (!access.hasSession(request))
      return problem(401, { error: "open the link that was printed: it has the token of this console" });
    try {
      const answer = await api(request, parameters);
      if (answer === undefined) return undefined;
      const { contentType } = answer;
      if (answer.status >= 400 && contentType?.startsWith("text/"))
        return problem(answer.status, { error: String(answer.body ?? "").trim() });
      return { ...answer, headers: { ...answer.headers, "Cache-Control": "no-store" } };
    } catch (thrown) {
      if (thrown instanceof RefusedText)
        return problem(thrown.status, { error: thrown.message, problems: thrown.problems });
      if (thrown instanceof HttpError) return problem(thrown.status, { error: thrown.message });
      throw thrown;
    }
  };
}

/** The token leaves the address, and with it the history of the browser and what it sends to others, before a page is there. */
function enter(request: HttpRequest, access: Access): HttpAnswer | undefined {
  const token = request.path === "/" ? request.query.get("token") : null;
  if (token === null) return undefined;
  return access.isToken(token)
    ? access.enter
    : problem(403, { error: "the token is not the one of this console; it changes with every start" });
}

function problem(status: number, error: ApiError): HttpAnswer {
  return {
    status,
    contentType: "application/json",
    headers: { "Cache-Control": "no-store" },
    body: `${JSON.stringify(error)}\n`,
  };
}

/** What the console could not do for its user: the reason belongs on the page. */
function failure(thrown: unknown, path: string, log: Logger): HttpAnswer {
  log.warn("a request of the console failed", { path, error: errorMessage(thrown) });
  return problem(502, { error: errorMessage(thrown) });
}

function sessionOf(sources: ConsoleSources, now: number, intervalMs: number): Session {
  const { identity, objects, logs } = sources;
  return {
    ...identity,
    now,
    intervalMs,
    historyMs: HISTORY_MS,
    features: {
      graph: true,
      actions: actionKinds(sources),
      objects: objects !== undefined,
      editing: objects?.canWrite === true,
      logs: logs !== undefined,
      logLevels: true,
      requests: logs !== undefined,
    },
    entries: sources.entries(),
  };
}

function isSameState(a: MeshState, b: MeshState): boolean {
  return JSON.stringify({ ...a, at: 0 }) === JSON.stringify({ ...b, at: 0 });
}

function shownHost(host: string): string {
  return host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
}
