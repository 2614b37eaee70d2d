import { type CaseContext, NO_CONTEXT } from "./case-context.ts";
import { type Difference, resourceDifferences } from "./difference.ts";
import { asSet, type Json, list, normalized, object, objects, text, without } from "./json.ts";

/** Names of the clusters that each side has: a route of the reference may name one that does not exist. */
export interface ClusterNames {
  readonly golden: ReadonlySet<string>;
  readonly ours: ReadonlySet<string>;
}

/** Differences between two RDS answers that are not accepted. */
export function compareRoutes(
  golden: readonly Json[],
  ours: readonly Json[],
  context: CaseContext = NO_CONTEXT,
  clusters?: ClusterNames,
): readonly Difference[] {
  const found = resourceDifferences({
    kind: "routes",
    golden: normalized(golden),
    ours: normalized(ours),
    name: ({ name }) => text(name),
    project: (config) => projectRouteConfiguration(config, context),
  });
  return found.filter(
    (difference) =>
      !isAcceptedRoute(difference, clusters) &&
      !isFurtherHost(difference, context) &&
      !keepsPort(difference) &&
      !isBoundAddress(difference),
  );
}

/** A host that only rules know is served on more ports than 80, which is all that the reference does for it. */
function isFurtherHost({ path, golden, ours }: Difference, { addresses }: CaseContext): boolean {
  const host = /^routes\[[^\]]*\]\.virtualHosts\.(.+):\d+$/.exec(path)?.[1];
  return host !== undefined && golden === undefined && ours !== undefined && !addresses.has(host);
}

/** Where a listener is bound to a loopback address for one service, the address is a name of it: clients need no Host header. */
function isBoundAddress({ path, golden, ours }: Difference): boolean {
  return /\.domains\.(127(\.\d+){3}|\[::1\])$/.test(path) && golden === undefined && ours === true;
}

/** Hosts of all ports stand side by side, told apart by the port that the reference then has Envoy ignore. */
function keepsPort({ path, ours }: Difference): boolean {
  return /^routes\[(http_proxy|unix:.*)\]\.ignorePortInHostMatching$/.test(path) && ours === undefined;
}

/** Also what inline routes of a listener are compared by. */
export function projectRouteConfiguration(config: Json, context: CaseContext): Json {
  const { virtualHosts, name: _name, ...rest } = without(config, "validateClusters", "maxDirectResponseBodySizeBytes");
  const hosts = objects(virtualHosts);
  const catchAll = hosts.findIndex(({ domains }) => list(domains).includes("*"));
  return {
    ...rest,
    // The first virtual host with a matching domain wins only among equals; the reference keeps the catch-all last.
    ...(catchAll >= 0 && catchAll < hosts.length - 1 && { catchAll: "not last" }),
    virtualHosts: Object.fromEntries(
      hosts.map((host) => [hostName(text(host.name), context), projectVirtualHost(host, context)]),
    ),
  };
}

function hostName(name: string, { sharesInbound }: CaseContext): string {
  return sharesInbound && name.startsWith("inbound|") ? name.replace(/\d+$/, "(a service's port)") : name;
}

function projectVirtualHost(host: Json, context: CaseContext): Json {
  const { domains, routes, ...rest } = without(host, "name", "includeRequestAttemptCount");
  return {
    ...rest,
    domains: asSet(projectDomains(text(host.name), list(domains).map(String), context)),
    routes: objects(routes).map(projectRoute),
  };
}

/**
 * Of a host with several addresses the reference lists one at random: any of them is right, as are all. A network is no domain
 * that a client could send.
 */
function projectDomains(virtualHost: string, domains: readonly string[], context: CaseContext): readonly string[] {
  const host = virtualHost.replace(/:\d+$/, "");
  const addresses = (context.addresses.get(host) ?? []).flatMap((address) => [address, `[${address}]`]);
  // The reference loses the address of a Service whose host a ServiceEntry has as well.
  const shared = context.sharedAddresses.get(host) ?? [];
  const plain = domains.filter((domain) => !domain.endsWith(".") && !shared.includes(domain));
  if (addresses.length <= 2) return plain;
  const listed = plain.filter((domain) => addresses.includes(domain));
  const isSet = listed.length > 0 || context.addressFree.has(virtualHost);
  return [...plain.filter((domain) => !addresses.includes(domain)), ...(isSet ? ["(an address of the host)"] : [])];
}

const OWN_NAMES = new Set(["default", "allow_any", "block_all"]);

function projectRoute(route: Json): Json {
  const { match, route: action, name, ...rest } = without(route, "decorator", "metadata");
  const { headers, queryParameters, caseSensitive, ...place } = object(match);
  return {
    ...rest,
    ...(name !== undefined && !OWN_NAMES.has(text(name)) && { name }),
    match: {
      ...place,
      ...(caseSensitive === false && { caseSensitive }),
      headers: asSet(list(headers)),
      queryParameters: asSet(list(queryParameters)),
    },
    ...(action !== undefined && { route: projectAction(object(action)) }),
  };
}

/** The limit for gRPC timeouts has an old and a new place. */
function projectAction(action: Json): Json {
  const { maxGrpcTimeout, maxStreamDuration, retryPolicy, ...rest } = action;
  const { grpcTimeoutHeaderMax, ...duration } = object(maxStreamDuration);
  const grpcTimeout = maxGrpcTimeout ?? grpcTimeoutHeaderMax;
  return {
    ...rest,
    ...(retryPolicy !== undefined && { retryPolicy: projectRetries(object(retryPolicy)) }),
    ...(grpcTimeout !== undefined && { grpcTimeout }),
    ...(Object.keys(duration).length > 0 && { maxStreamDuration: duration }),
  };
}

/** The reference begins with a comma where only status codes are given. */
function projectRetries({ retryOn, ...rest }: Json): Json {
  return { ...rest, ...(retryOn !== undefined && { retryOn: text(retryOn).split(",").filter(Boolean).join(",") }) };
}

export function isAcceptedRoute({ path, golden, ours }: Difference, clusters: ClusterNames | undefined): boolean {
  // A route that the user gave no name may have any.
  if (/\.routes\[\d+\]\.name$/.test(path)) return golden === undefined;
  if (clusters === undefined || typeof golden !== "string" || typeof ours !== "string") return false;
  // The only port of the destination, where the reference takes the listener's and names a cluster that nobody has.
  const isReference = /\.(cluster|clusters\[\d+\]\.name)$/.test(path);
  const [goldenOne, ourOne] = [golden.split("|"), ours.split("|")];
  const isSameService = goldenOne[2] === ourOne[2] && goldenOne[3] === ourOne[3] && goldenOne.length === 4;
  if (!isReference || !isSameService || clusters.golden.has(golden)) return false;
  // A subset that no rule defines leads nowhere, at any port.
  const isNowhere = ![...clusters.golden].some((name) => name.endsWith(`|${goldenOne[2]}|${goldenOne[3]}`));
  return clusters.ours.has(ours) || isNowhere;
}
