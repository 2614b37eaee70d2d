import type { Route, RouteConfiguration, VirtualHost } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { HttpConnectionManager } from "../../protobuf/gen/envoy/extensions/filters/network/http_connection_manager/v3.ts";
import type { Connection, HttpRequest } from "../connection/connection.ts";
import { type Branch, type Decision, follow, only } from "../decision.ts";
import type { HeaderMap } from "../match/headers.ts";
import { normalizedPath } from "../match/path.ts";
import { decide, type Place } from "../mesh.ts";
import { ending, type Passage } from "../passage.ts";
import { applyFilter, type Filtered, type FilterState } from "./filters.ts";
import { type ChosenRoute, chooseRoutes, describeMatch } from "./route.ts";
import { answer } from "./router.ts";
import { chooseVirtualHost } from "./virtual-host.ts";

/** A request as it comes to an HTTP connection manager. */
export interface Arrival {
  readonly connection: Connection;
  readonly identity: string | undefined;
  readonly request: HttpRequest;
}

/** What an HTTP connection manager does with a request: path, route, filters in their order, then the router. */
export function passManager(
  place: Place,
  manager: HttpConnectionManager,
  arrival: Arrival,
): readonly Branch<Passage>[] {
  const path = normalizedPath(arrival.request.headers[":path"] ?? "/", manager);
  if (typeof path !== "string") {
    const text = path.location === undefined ? "the path has escaped slashes" : `redirected to ${path.location}`;
    const kind = path.location === undefined ? "rejected" : "redirect";
    return only(ending(kind, text, { status: path.status }), decide(place, "path", text));
  }
  const config = manager.routeConfig ?? place.proxy.resources.routes.get(manager.rds?.routeConfigName ?? "");
  const headers: HeaderMap = { ...arrival.request.headers, ":path": path };
  const changed =
    path === arrival.request.headers[":path"] ? [] : [decide(place, "path", `the path is taken as ${path}`)];
  const state: FilterState = { headers, metadata: {}, flags: [], clearsRoute: false };
  const host = config && chooseVirtualHost(config, headers[":authority"] ?? "");
  const hosted = { config, host };
  return follow(only(undefined, ...changed, hostDecision(place, hosted, headers)), () =>
    follow(candidates(place, hosted, state), (chosen) =>
      throughFilters(place, manager, arrival, { ...hosted, chosen, state }),
    ),
  );
}

interface Hosted {
  readonly config: RouteConfiguration | undefined;
  readonly host: VirtualHost | undefined;
}

interface Routed extends Hosted {
  /** Undefined: no route takes the request. */
  readonly chosen: ChosenRoute | undefined;
  readonly state: FilterState;
}

function hostDecision(place: Place, { config, host }: Hosted, headers: HeaderMap): Decision {
  const authority = headers[":authority"] ?? "";
  if (config === undefined) return decide(place, "virtual host", "the listener has no routes");
  const routes = config.name ?? "";
  if (host === undefined) return decide(place, "virtual host", `none of routes ${routes} is for ${authority}`);
  const name = host.name ?? "";
  return decide(place, "virtual host", `${name} of routes ${routes}, for ${authority}`, {
    kind: "virtual-host",
    routes,
    name,
  });
}

function candidates(
  place: Place,
  { config, host }: Hosted,
  { headers, metadata }: Pick<FilterState, "headers" | "metadata">,
): readonly Branch<ChosenRoute | undefined>[] {
  if (host === undefined) return only(undefined);
  const about = { routes: config?.name ?? "", host: host.name ?? "" };
  const chosen = chooseRoutes(host, headers, metadata);
  const branches = chosen.map((value): Branch<ChosenRoute | undefined> => {
    const { route, index, share } = value;
    const title = route.name ? `${index} (${route.name})` : `${index}`;
    const text = `route ${title}: ${describeMatch(route.match ?? {})}`;
    return { share, decisions: [decide(place, "route", text, { kind: "route", ...about, index })], value };
  });
  const rest = 1 - chosen.reduce((sum, { share }) => sum + share, 0);
  if (rest < 1e-9) return branches;
  const text = `none of the ${host.routes?.length ?? 0} routes of ${host.name} takes ${headers[":method"]} ${headers[":path"]}`;
  const missed = decide(place, "route", text, { kind: "virtual-host", routes: about.routes, name: about.host });
  return [...branches, { share: rest, decisions: [missed], value: undefined }];
}

function throughFilters(
  place: Place,
  manager: HttpConnectionManager,
  arrival: Arrival,
  { chosen, state, ...hosted }: Routed,
): readonly Branch<Passage>[] {
  const { connection, identity } = arrival;
  const { host, config } = hosted;
  const context = { place, connection, identity, route: withHostFilters(chosen?.route, host, config) };
  let branches: readonly Branch<Filtered>[] = only(state);
  for (const filter of manager.httpFilters ?? []) {
    branches = follow(branches, (value) => ("ends" in value ? only(value) : applyFilter(filter, value, context)));
  }
  return follow(branches, (value): readonly Branch<Passage>[] => {
    if ("ends" in value) return only(value);
    // A filter that learned more about the request may lead it to another route.
    const routes = value.clearsRoute ? candidates(place, hosted, value) : only(chosen);
    return follow(routes, (found): readonly Branch<Passage>[] => {
      if (found !== undefined) {
        return answer(place, { connection, state: value, route: found.route, levels: [host ?? {}, config ?? {}] });
      }
      const text =
        host === undefined ? "no virtual host is for the name" : `no route of ${host.name} takes the request`;
      return only(ending("no-route", text, { status: 404, flags: [...value.flags, "NR"] }));
    });
  });
}

/** Settings of filters stand at routes, hosts or the whole configuration; the nearest counts. */
function withHostFilters(
  route: Route | undefined,
  host: VirtualHost | undefined,
  config: RouteConfiguration | undefined,
): Route | undefined {
  if (route === undefined) return undefined;
  const settings = { ...config?.typedPerFilterConfig, ...host?.typedPerFilterConfig, ...route.typedPerFilterConfig };
  return { ...route, typedPerFilterConfig: settings };
}
