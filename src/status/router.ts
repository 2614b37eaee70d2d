import type { IncomingMessage, ServerResponse } from "node:http";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { cleanPath } from "./core/clean-path.ts";
import { isLoopback } from "./core/is-loopback.ts";
import { decodedPath, type RequestTarget, splitTarget } from "./core/request-target.ts";
import { encodeBody } from "./encode-response.ts";

export type RouteHandler = (request: IncomingMessage, response: ServerResponse, path: string) => void | Promise<void>;

export interface RouteOptions {
  /** Refuse peers that are not on this machine; checked before the method. */
  readonly loopbackOnly?: boolean;
}

export interface Router {
  /** A path that ends in `/` takes everything below it. `*` is any method; HEAD is answered wherever GET is. */
  route(method: "GET" | "POST" | "*", path: string, handler: RouteHandler, options?: RouteOptions): void;
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** Everything that was declared, sorted. */
  paths(): string[];
}

interface Route {
  readonly method: string;
  readonly handler: RouteHandler;
  readonly loopbackOnly: boolean;
}

export function createRouter(log: Logger): Router {
  const exact = new Map<string, Route>();
  const prefixes = new Map<string, Route>();
  const find = (path: string): Route | undefined => {
    const route = exact.get(path);
    if (route !== undefined) return route;
    const longest = [...prefixes.keys()]
      .filter((prefix) => path.startsWith(prefix))
      .sort((a, b) => b.length - a.length);
    return longest[0] === undefined ? undefined : prefixes.get(longest[0]);
  };
  return {
    route: (method, path, handler, options = {}) => {
      const routes = path.endsWith("/") ? prefixes : exact;
      if (routes.has(path)) throw new Error(`route ${path} is declared twice`);
      routes.set(path, { method, handler, loopbackOnly: options.loopbackOnly ?? false });
    },
    paths: () => [...exact.keys(), ...prefixes.keys()].sort(),
    handle: (request, response) => {
      // The server as a whole is asked about.
      if (request.method === "OPTIONS" && request.url === "*") return sendText(response, 200, "");
      const target = splitTarget(request.url ?? "/");
      const path = target && decodedPath(target.path);
      if (target === undefined || path === undefined) return sendError(response, 400, "400 Bad Request");
      const clean = cleanPath(target.path);
      const wanted = prefixes.has(`${clean}/`) && !exact.has(clean) ? `${clean}/` : clean;
      if (wanted !== target.path) return redirect(request, response, { path: wanted, query: target.query });
      const route = find(path);
      if (route === undefined) return sendError(response, 404, "404 page not found");
      if (route.loopbackOnly && !isLoopback(request.socket.remoteAddress)) {
        return sendError(response, 403, "Only requests from localhost are allowed");
      }
      if (!accepts(route.method, request.method)) return sendError(response, 405, "Method Not Allowed");
      void run(route.handler, { request, response, path, log });
    },
  };
}

/** The reference's error form: text with one newline that browsers must not guess about. */
export function sendError(response: ServerResponse, status: number, text: string): void {
  response.setHeader("Content-Type", "text/plain; charset=utf-8");
  response.setHeader("X-Content-Type-Options", "nosniff");
  sendText(response, status, `${text}\n`);
}

export function sendText(response: ServerResponse, status: number, text: string): void {
  sendBytes(response, status, Buffer.from(text));
}

/** Packs larger bodies when the caller understands that. */
export function sendBytes(response: ServerResponse, status: number, body: Buffer): void {
  response.statusCode = status;
  const sent = encodeBody(response, body);
  response.setHeader("Content-Length", sent.length);
  response.end(sent);
}

function redirect(request: IncomingMessage, response: ServerResponse, { path, query }: RequestTarget): void {
  const location = query === "" ? path : `${path}?${query}`;
  response.setHeader("Location", location);
  const escaped = location.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&#34;");
  // Only who can follow a link gets one.
  const hasPage = request.method === "GET" || request.method === "HEAD";
  if (hasPage) response.setHeader("Content-Type", "text/html; charset=utf-8");
  sendText(response, 307, hasPage ? `<a href="${escaped}">Temporary Redirect</a>.\n\n` : "");
}

function accepts(method: string, asked: string | undefined): boolean {
  return method === "*" || method === asked || (method === "GET" && asked === "HEAD");
}

async function run(
  handler: RouteHandler,
  call: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly path: string;
    readonly log: Logger;
  },
): Promise<void> {
  const { request, response, path, log } = call;
  try {
    await handler(request, response, path);
  } catch (thrown) {
    log.error("status request failed", { path, error: errorMessage(thrown) });
    if (response.headersSent) response.destroy();
    else sendError(response, 500, "Internal Server Error");
  }
}
