import type { Route, RouteConfiguration, VirtualHost } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { parseClusterName } from "../shared/cluster-name.ts";
import type { Patch } from "./patches.ts";
import { applied, isMerge, mergePatch, type Patching, shapeList } from "./patching.ts";

/** The configuration itself where nothing is patched in it. */
export function patchRoute(patching: Patching, made: RouteConfiguration): RouteConfiguration {
  return applied(patching, made.name ?? "", (some) => patchedRoute(some, made));
}

function patchedRoute(patching: Patching, made: RouteConfiguration): RouteConfiguration {
  let route = made;
  const applying = (applyTo: "ROUTE_CONFIGURATION" | "VIRTUAL_HOST" | "HTTP_ROUTE") =>
    patching.of(applyTo).filter((patch) => isMeant(patch, made));
  for (const patch of applying("ROUTE_CONFIGURATION")) if (isMerge(patch)) route = mergePatch(route, patch);
  const hosts = applying("VIRTUAL_HOST");
  const routes = applying("HTTP_ROUTE");
  if (hosts.length === 0 && routes.length === 0) return route;
  const given = route.virtualHosts ?? [];
  const virtualHosts: VirtualHost[] = [];
  for (const [at, host] of given.entries()) {
    const isPossible = (patch: Patch, result: VirtualHost) => {
      // Most patches change neither, and there may be thousands of hosts.
      if (result.name === host.name && result.domains === host.domains) return true;
      const taken = takenBy([...virtualHosts, ...given.slice(at + 1)], result);
      if (taken !== undefined) patching.refuse(patch, route.name ?? "", taken);
      return taken === undefined;
    };
    const changed = patchHost(host, hosts, routes, isPossible);
    if (changed !== undefined) virtualHosts.push(changed);
  }
  for (const patch of hosts.filter(({ operation }) => operation === "ADD")) {
    const added = patch.value as VirtualHost;
    const taken = takenBy(virtualHosts, added);
    if (taken === undefined) virtualHosts.push(added);
    else patching.refuse(patch, route.name ?? "", taken);
  }
  const { virtualHosts: _, ...rest } = route;
  return virtualHosts.length === 0 ? rest : { ...rest, virtualHosts };
}

function isMeant({ match }: Patch, { name = "" }: RouteConfiguration): boolean {
  const wanted = match.routeConfiguration;
  if (wanted === undefined) return true;
  const { port, portName, gateway } = routeNameParts(name);
  return (
    (wanted.name === "" || wanted.name === name) &&
    (wanted.portNumber === 0 || wanted.portNumber === port) &&
    (wanted.portName === "" || wanted.portName === portName) &&
    (wanted.gateway === "" || wanted.gateway === gateway)
  );
}

/** Names are ports on the way out, clusters on the way in; those of routers say more. */
function routeNameParts(name: string): {
  readonly port: number;
  readonly portName?: string;
  readonly gateway?: string;
} {
  const [, secured, portName, gateway, namespace] = HTTPS_NAME.exec(name) ?? [];
  if (secured !== undefined && portName !== undefined) {
    return { port: Number(secured), portName, gateway: `${namespace}/${gateway}` };
  }
  const [, plain] = HTTP_NAME.exec(name) ?? [];
  return { port: parseClusterName(name)?.port ?? Number(plain ?? 0) };
}

/** Of routers, each with or without an address behind it. */
const HTTPS_NAME = /^https\.(\d+)\.([^.]+)\.([^.]+)\.([^.]+)/;
/** Of routers, and the mere port of sidecars. */
const HTTP_NAME = /^(?:http\.(?=\d+(?:\.|$))|(?=\d+$))(\d+)/;

/** A proxy refuses a configuration where a name or a domain is there twice. */
function takenBy(hosts: readonly VirtualHost[], { name = "", domains = [] }: VirtualHost): string | undefined {
  if (hosts.some((host) => host.name === name)) return `there is a virtual host ${name} already`;
  const known = new Set(hosts.flatMap((host) => host.domains ?? []).map((domain) => domain.toLowerCase()));
  const domain = domains.find((candidate) => known.has(candidate.toLowerCase()));
  return domain === undefined ? undefined : `another virtual host has the domain ${domain}`;
}

function patchHost(
  given: VirtualHost,
  hosts: readonly Patch[],
  routes: readonly Patch[],
  isPossible: (patch: Patch, result: VirtualHost) => boolean,
): VirtualHost | undefined {
  let host = given;
  for (const patch of hosts) {
    if (!isMeantHost(patch, host)) continue;
    if (patch.operation === "REMOVE") return undefined;
    if (!isMerge(patch) && patch.operation !== "REPLACE") continue;
    const result: VirtualHost = patch.operation === "REPLACE" ? patch.value : mergePatch(host, patch);
    if (isPossible(patch, result)) host = result;
  }
  const meant = routes.filter((patch) => isMeantHost(patch, host));
  if (meant.length === 0) return host;
  const changed = (host.routes ?? []).flatMap((route) => patchEach(route, meant) ?? []);
  return { ...host, routes: meant.reduce(insertRoute, changed) };
}

function isMeantHost({ match }: Patch, { name, domains = [] }: VirtualHost): boolean {
  const wanted = match.routeConfiguration?.vhost;
  if (wanted === undefined) return true;
  return (
    (wanted.name === "" || wanted.name === name) && (wanted.domainName === "" || domains.includes(wanted.domainName))
  );
}

function patchEach(given: Route, patches: readonly Patch[]): Route | undefined {
  let route = given;
  for (const patch of patches) {
    const isNamed = routeMatch(patch);
    if (isNamed !== undefined && !isNamed(route)) continue;
    if (patch.operation === "REMOVE") return undefined;
    if (isMerge(patch)) route = mergePatch(route, patch);
  }
  return route;
}

function insertRoute(routes: readonly Route[], patch: Patch): Route[] {
  const isNamed = routeMatch(patch);
  if (patch.operation === "REMOVE" || patch.operation === "REPLACE") return [...routes];
  // First of all, but only where what is named is there.
  if (patch.operation === "INSERT_FIRST" && isNamed !== undefined && !routes.some(isNamed)) return [...routes];
  return [...shapeList(routes, patch, isNamed)];
}

function routeMatch({ match }: Patch): ((route: Route) => boolean) | undefined {
  const wanted = match.routeConfiguration?.vhost?.route;
  if (wanted === undefined) return undefined;
  return (route) =>
    (wanted.name === "" || wanted.name === route.name) &&
    (wanted.action === "ANY" || wanted.action === actionOf(route));
}

function actionOf({ route, redirect, directResponse }: Route): string {
  if (route !== undefined) return "ROUTE";
  if (redirect !== undefined) return "REDIRECT";
  return directResponse === undefined ? "" : "DIRECT_RESPONSE";
}
