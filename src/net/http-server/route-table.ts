import { errorText, HttpError, type HttpHandler, type PathParameters, type RequestCheck } from "./http-types.ts";

export type RouteMethod = "GET" | "POST" | "PUT" | "DELETE" | "*";

export interface RouteOptions {
  /** Runs before the method is looked at. */
  readonly check?: RequestCheck;
}

export interface RouteTable {
  /**
   * A path that ends in `/` takes everything below it, the longest wins; a `{name}` segment takes any one segment; exact paths go first.
   * `*` is any method; HEAD is answered wherever GET is. Throws for a route that is declared twice.
   */
  route(method: RouteMethod, path: string, handler: HttpHandler, options?: RouteOptions): void;
  has(path: string): boolean;
  /** Everything that was declared, sorted. */
  paths(): string[];
  readonly handle: HttpHandler;
}

interface Route {
  readonly handler: HttpHandler;
  readonly check: RequestCheck | undefined;
}

/** The routes of one path, by method. */
type Methods = Map<string, Route>;

interface Found {
  readonly methods: Methods;
  readonly parameters: PathParameters;
}

const NO_PARAMETERS: PathParameters = {};

/** Paths of a server; `notFound` answers the rest. */
export function createRouteTable(notFound: HttpHandler = () => errorText(404, "404 page not found")): RouteTable {
  const byPath = new Map<string, Methods>();
  const find = (path: string): Found | undefined => {
    const exact = byPath.get(path);
    if (exact !== undefined) return { methods: exact, parameters: NO_PARAMETERS };
    let best: Found | undefined;
    let bestLength = 0;
    for (const [pattern, methods] of byPath) {
      const parameters = match(pattern, path);
      if (parameters === undefined || pattern.length <= bestLength) continue;
      best = { methods, parameters };
      bestLength = pattern.length;
    }
    return best;
  };
  return {
    route: (method, path, handler, { check } = {}) => {
      const methods: Methods = byPath.get(path) ?? new Map();
      if (methods.has(method)) throw new Error(`route ${method} ${path} is declared twice`);
      methods.set(method, { handler, check });
      byPath.set(path, methods);
    },
    has: (path) => byPath.has(path),
    paths: () => [...byPath.keys()].sort(),
    handle: (request, parameters) => {
      const found = find(request.path);
      if (found === undefined) return notFound(request, parameters);
      const route = routeFor(found.methods, request.method);
      const refusal = (route ?? [...found.methods.values()][0])?.check?.(request);
      if (refusal !== undefined) return refusal;
      if (route === undefined) return errorText(405, "Method Not Allowed", { Allow: allowed(found.methods) });
      return route.handler(request, found.parameters);
    },
  };
}

function routeFor(methods: Methods, method: string): Route | undefined {
  return methods.get(method) ?? (method === "HEAD" ? methods.get("GET") : undefined) ?? methods.get("*");
}

function allowed(methods: Methods): string {
  return [...methods.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])).join(", ");
}

/** Undefined when the path is not one of the pattern's. */
function match(pattern: string, path: string): PathParameters | undefined {
  if (pattern.endsWith("/") && path.startsWith(pattern)) return NO_PARAMETERS;
  if (!pattern.includes("{")) return undefined;
  const wanted = pattern.split("/");
  const segments = path.split("/");
  if (segments.length !== wanted.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, segment] of segments.entries()) {
    const [, name] = /^\{(.+)\}$/.exec(wanted[index] ?? "") ?? [];
    if (name !== undefined && segment !== "") parameters[name] = segment;
    else if (segment !== wanted[index]) return undefined;
  }
  return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, unescapeSegment(value)]));
}

function unescapeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new HttpError(400, `the path has a bad escape: ${segment}`);
  }
}
