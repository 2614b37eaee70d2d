import { UNKNOWN_KEY } from "../../../src/envoy-config/authz/jwt.ts";
import type { CaseContext } from "./case-context.ts";
import { type Json, object, objects, text, without } from "./json.ts";
import { projectRbac } from "./rbac-projection.ts";
import { projectRouteConfiguration } from "./routes.ts";

/** Filters that only count: free to be there or not. */
const STATISTICS = new Set(["envoy.filters.network.mongo_proxy", "envoy.filters.http.grpc_stats"]);
/** Do nothing without settings of a route; `unusedOrder` and `missingRouteFilters` look at them. */
const PER_ROUTE = ["envoy.filters.http.fault", "envoy.filters.http.cors"];
const FREE = ["pathWithEscapedSlashesAction", "proxy100Continue", "requestIdExtension", "serverName", "statPrefix"];

/** Network filters in order, each with what its configuration means. */
export function projectNetworkFilters(filters: unknown, context: CaseContext): readonly Json[] {
  return objects(filters)
    .filter(({ name }) => !STATISTICS.has(text(name)))
    .map(({ name, typedConfig, ...rest }) => {
      const config = object(typedConfig);
      const type = text(config["@type"]).replace(/^.*\./, "");
      if (type === "HttpConnectionManager") return { ...rest, name, config: projectHttpManager(config, context) };
      if (type === "RBAC") return { ...rest, name, config: projectRbac(config) };
      return { ...rest, name, config: without(config, "statPrefix") };
    });
}

/** Also of API listeners. */
export function projectHttpManager(manager: Json, context: CaseContext): Json {
  const { httpFilters, routeConfig, rds, tracing, ...rest } = without(manager, ...FREE);
  const filters = objects(httpFilters);
  return {
    ...rest,
    // Sampling rates alone report nothing.
    ...(object(tracing).provider !== undefined && { tracing }),
    ...(rds !== undefined && { rds }),
    ...(routeConfig !== undefined && {
      routeConfig: {
        name: object(routeConfig).name,
        ...projectRouteConfiguration(object(routeConfig), context),
      },
    }),
    ...(!isOrdered(filters.map(({ name }) => text(name))) && { order: "fault, cors, router is the order" }),
    httpFilters: filters
      .filter(({ name }) => !STATISTICS.has(text(name)) && !PER_ROUTE.includes(text(name)))
      .map((filter) => ({ ...filter, typedConfig: projectHttpFilter(object(filter.typedConfig)) })),
  };
}

/** Envoy refuses a listener with an empty key set: one whose keys no token fits means the same. */
const NO_KEYS = new Set(['{"keys":[]}', UNKNOWN_KEY]);

function projectHttpFilter(config: Json): unknown {
  if (text(config["@type"]).endsWith(".JwtAuthentication")) {
    const providers = Object.entries(object(config.providers)).map(([name, provider]) => {
      const { localJwks, ...rest } = object(provider);
      const keys = text(object(localJwks).inlineString);
      return [name, { ...rest, localJwks: NO_KEYS.has(keys) ? "no keys" : localJwks }] as const;
    });
    return { ...config, providers: Object.fromEntries(providers) };
  }
  return text(config["@type"]).endsWith(".RBAC") ? projectRbac(config) : config;
}

function isOrdered(names: readonly string[]): boolean {
  const places = [...PER_ROUTE, "envoy.filters.http.router"].map((name) => names.indexOf(name)).filter((at) => at >= 0);
  return places.every((at, index) => index === 0 || at > (places[index - 1] ?? 0));
}

/** Per-route settings of a filter that the HTTP manager does not have would silently do nothing. */
export function missingRouteFilters(manager: Json, routes: readonly Json[]): readonly string[] {
  const present = new Set(objects(manager.httpFilters).map(({ name }) => text(name)));
  const rds = text(object(manager.rds).routeConfigName);
  const configs = [object(manager.routeConfig), ...routes.filter(({ name }) => name === rds && rds !== "")];
  const used = configs
    .flatMap(({ virtualHosts }) => objects(virtualHosts))
    .flatMap((host) => [host, ...objects(host.routes)])
    .flatMap((place) => Object.keys(object(place.typedPerFilterConfig)));
  return [...new Set(used)].filter((name) => !present.has(name));
}
