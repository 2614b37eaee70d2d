import {
  errorText,
  type HttpAnswer,
  type HttpHandler,
  type HttpRequest,
  type RequestCheck,
} from "../net/http-server/http-types.ts";
import { refuseForeignPages } from "../net/http-server/local-caller.ts";
import { createRouteTable, type RouteMethod } from "../net/http-server/route-table.ts";
import { isLoopback } from "../net/ip.ts";
import { cleanPath, decodedPath, type RequestTarget, splitTarget } from "./core/request-path.ts";

export interface StatusRouteOptions {
  /** Refuse peers that are not on this machine; checked before the method. */
  readonly loopbackOnly?: boolean;
  /** The same, and refuse pages in a browser on this machine: for everything that acts or that shows more than metrics. */
  readonly localOnly?: boolean;
}

export interface StatusRoutes {
  /** A path that ends in `/` takes everything below it. `*` is any method; HEAD is answered wherever GET is. */
  route(method: RouteMethod, path: string, handler: HttpHandler, options?: StatusRouteOptions): void;
  /** Everything that was declared, sorted. */
  paths(): string[];
  readonly handle: HttpHandler;
}

/** The reference's answers for targets: those of Go's ServeMux, which redirects to the clean path. */
export function createStatusRoutes(): StatusRoutes {
  const table = createRouteTable();
  return {
    route: (method, path, handler, options = {}) => {
      const check = accessCheck(options);
      table.route(method, path, handler, check === undefined ? {} : { check });
    },
    paths: table.paths,
    handle: (request, parameters) => {
      // A question about the server as a whole.
      if (request.method === "OPTIONS" && request.target === "*") return { status: 200, body: "" };
      const target = splitTarget(request.target);
      if (target === undefined || decodedPath(target.path) === undefined) return errorText(400, "400 Bad Request");
      const clean = cleanPath(target.path);
      const wanted = table.has(`${clean}/`) && !table.has(clean) ? `${clean}/` : clean;
      if (wanted !== target.path) return redirect(request, { path: wanted, query: target.query });
      return table.handle(request, parameters);
    },
  };
}

/** The path that handlers see. */
export function readStatusPath(target: string): string {
  return decodedPath(splitTarget(target)?.path ?? "") ?? "";
}

function accessCheck({ loopbackOnly, localOnly }: StatusRouteOptions): RequestCheck | undefined {
  if (localOnly) return (request) => refuseRemote(request) ?? refuseForeignPages(request);
  return loopbackOnly ? refuseRemote : undefined;
}

function refuseRemote({ peerAddress }: HttpRequest): HttpAnswer | undefined {
  return isLoopback(peerAddress) ? undefined : errorText(403, "Only requests from localhost are allowed");
}

function redirect({ method }: HttpRequest, { path, query }: RequestTarget): HttpAnswer {
  const location = query === "" ? path : `${path}?${query}`;
  const answer = { status: 307, headers: { Location: location } };
  // Only a client that shows pages can follow a link.
  if (method !== "GET" && method !== "HEAD") return { ...answer, body: "" };
  const escaped = location.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&#34;");
  const body = `<a href="${escaped}">Temporary Redirect</a>.\n\n`;
  return { ...answer, contentType: "text/html; charset=utf-8", body };
}
