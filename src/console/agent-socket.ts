import { errorCode, errorMessage } from "../base/coded-error.ts";
import type { Handle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { HttpError } from "../net/http-client/http-error.ts";
import { httpRequest } from "../net/http-client/http-request.ts";
import { errorText, type HttpAnswer } from "../net/http-server/http-types.ts";
import { refuseForeignPages } from "../net/http-server/local-caller.ts";
import { createKeptConnection } from "../net/http1/kept-connection.ts";
import { Http1Error } from "../net/http1/request-http1.ts";
import { startSmallServer } from "../net/http1/start-small-server.ts";
import type { AgentAccess, AgentAnswer, AskLimits } from "./sources.ts";

const IDLE_MS = 30_000;

/**
 * An agent's pages on a unix socket, which reaches across network namespaces. Its mode keeps everybody but root and the agent's user
 * out. Undefined, with a line in the log, when the path cannot be used: an agent does not fail for a console.
 */
export async function startAgentSocket(path: string, pages: AgentAccess, log: Logger): Promise<Handle | undefined> {
  const limits = { timeoutMs: 0, maxBytes: 0 };
  const ask = async (method: string, target: string): Promise<HttpAnswer> => {
    if (method === "GET") return toHttp(await pages.get(target, limits));
    if (method === "POST") return toHttp(await pages.post(target, limits));
    return errorText(405, "allowed methods are GET and POST", { Allow: "GET, POST" });
  };
  try {
    return await startSmallServer({
      listen: { path, mode: 0o600 },
      answer: async (request) =>
        refuseForeignPages(request) ??
        ask(request.method, request.target).catch((thrown: unknown) => errorText(502, errorMessage(thrown))),
      idleMs: IDLE_MS,
      log,
    });
  } catch (thrown) {
    log.error("no console: the socket of CONSOLE_SOCKET cannot be opened", { path, error: errorMessage(thrown) });
    return undefined;
  }
}

function toHttp({ status, body }: AgentAnswer): HttpAnswer {
  return { status, contentType: "application/json", body };
}

/** The other end. A connection stays open between two questions; the owner closes it. */
export function openAgentSocket(path: () => string | undefined): AgentAccess & { close(): void } {
  const requirePath = () => {
    const socketPath = path();
    if (socketPath === undefined) throw new Error("its agent does not run");
    return socketPath;
  };
  const kept = createKeptConnection({ address: () => ({ path: requirePath() }), idleMs: IDLE_MS / 2 });
  const askAlone = async (method: string, target: string, limits: AskLimits): Promise<AgentAnswer> => {
    const url = `http://localhost${target}`;
    const { status, body } = await httpRequest({ url, target, method, socketPath: requirePath(), ...limits });
    return { status, body };
  };
  const ask = async (method: "GET" | "POST", target: string, limits: AskLimits): Promise<AgentAnswer> => {
    requirePath();
    try {
      // Details of a workload can take long: the next sample does not wait for them.
      return await (kept.isBusy ? askAlone(method, target, limits) : kept.ask(method, target, limits));
    } catch (thrown) {
      throw new Error(reasonOf(thrown, limits.timeoutMs), { cause: thrown });
    }
  };
  return {
    get: (target, limits) => ask("GET", target, limits),
    post: (target, limits) => ask("POST", target, limits),
    close: () => kept.close(),
  };
}

function reasonOf(thrown: unknown, timeoutMs: number): string {
  const isHttp = thrown instanceof HttpError || thrown instanceof Http1Error;
  if (isHttp && thrown.code === "timeout") return `its agent has not answered for ${timeoutMs / 1000} s`;
  const code = thrown instanceof HttpError ? thrown.dial?.code : errorCode(thrown);
  if (code === "ENOENT") return "its agent is starting";
  return `its agent does not answer: ${thrown instanceof HttpError ? thrown.reason : errorMessage(thrown)}`;
}
