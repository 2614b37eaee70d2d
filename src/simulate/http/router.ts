import type { Route, RouteAction, RouteConfiguration, VirtualHost } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { Connection } from "../connection/connection.ts";
import { type Branch, only } from "../decision.ts";
import { decide, type Place } from "../mesh.ts";
import { ending, type Forward, type Passage } from "../passage.ts";
import { type FilterState, percent } from "./filters.ts";
import { redirectOf, rewriteRequest } from "./rewrite.ts";

interface Routed {
  readonly connection: Connection;
  readonly route: Route;
  readonly state: FilterState;
  /** What else changes headers: virtual host, route configuration. */
  readonly levels: readonly (VirtualHost | RouteConfiguration)[];
}

/** What a route does with a request: it redirects, answers or sends it on. */
export function answer(place: Place, routed: Routed): readonly Branch<Passage>[] {
  const { route, state, connection } = routed;
  if (route.redirect !== undefined) {
    const { status, location } = redirectOf(
      route.redirect,
      route.match ?? {},
      state.headers,
      connection.tls !== undefined,
    );
    const text = `${status} to ${location}`;
    return only(
      ending("redirect", `redirected to ${location}`, { status, flags: state.flags }),
      decide(place, "redirect", text),
    );
  }
  if (route.directResponse !== undefined) {
    const { status = 0, body } = route.directResponse;
    const text = `${status}${body?.inlineString ? ` with the body ${JSON.stringify(body.inlineString.slice(0, 80))}` : ""}`;
    return only(
      ending("direct-response", `answered by a rule with ${text}`, { status, flags: state.flags }),
      decide(place, "direct response", text),
    );
  }
  if (route.route === undefined) {
    const text = "the route says nothing of where to go";
    return only(ending("no-route", text, { status: 404, flags: [...state.flags, "NR"] }), decide(place, "route", text));
  }
  const { weightedClusters } = route.route;
  if (weightedClusters === undefined)
    return only(...forward(place, routed, route.route.cluster ?? headerCluster(route.route, state), {}));
  const clusters = weightedClusters.clusters ?? [];
  const total = clusters.reduce((sum, { weight = 0 }) => sum + weight, 0);
  return clusters.flatMap(({ name = "", weight = 0, ...own }) => {
    if (weight === 0) return [];
    const [value, ...decisions] = forward(place, routed, name, own);
    const share = weight / total;
    const chance = decide(place, "weight", `${percent(share)} of the requests go to ${name}`);
    return [{ share, decisions: [chance, ...decisions], value }];
  });
}

function headerCluster({ clusterHeader = "" }: RouteAction, { headers }: FilterState): string {
  return headers[clusterHeader.toLowerCase()] ?? "";
}

type Levels = Parameters<typeof rewriteRequest>[2];

function forward(
  place: Place,
  { route, state, levels, connection }: Routed,
  cluster: string,
  own: Levels[number] & { readonly hostRewriteLiteral?: string | undefined },
): [Passage, ...ReturnType<typeof decide>[]] {
  const action = route.route ?? {};
  const { request, changes } = rewriteRequest(
    { headers: state.headers },
    route,
    [own, route, ...levels],
    own.hostRewriteLiteral,
  );
  const texts = [
    ...(changes.length > 0 ? [["rewrite", changes.join(", ")] as const] : []),
    ...behaviour(action).map((text) => ["behaviour", text] as const),
  ];
  const goesTo: Forward = {
    cluster,
    speaks: connection.speaks,
    request,
    flags: state.flags,
    retriesConnecting: retries(action, "connect-failure"),
    missingStatus: MISSING_STATUS[action.clusterNotFoundResponseCode ?? "SERVICE_UNAVAILABLE"],
  };
  return [{ goesTo }, ...texts.map(([step, text]) => decide(place, step, text))];
}

const MISSING_STATUS = { SERVICE_UNAVAILABLE: 503, NOT_FOUND: 404, INTERNAL_SERVER_ERROR: 500 } as const;

function retries({ retryPolicy }: RouteAction, condition: string): boolean {
  const conditions = (retryPolicy?.retryOn ?? "").split(",").map((one) => one.trim());
  return (
    (retryPolicy?.numRetries ?? 1) > 0 && [condition, "5xx", "gateway-error"].some((one) => conditions.includes(one))
  );
}

/** Limits and copies, in words. */
function behaviour({
  timeout,
  retryPolicy,
  requestMirrorPolicies = [],
  hashPolicy = [],
}: RouteAction): readonly string[] {
  const { numRetries = 1, retryOn = "", perTryTimeout } = retryPolicy ?? {};
  return [
    ...(timeout !== undefined && timeout !== "0s" ? [`answered with 504 after ${timeout}`] : []),
    ...(retryPolicy !== undefined && numRetries > 0
      ? [
          `up to ${numRetries} retries on ${retryOn}${perTryTimeout === undefined ? "" : `, each within ${perTryTimeout}`}`,
        ]
      : []),
    ...requestMirrorPolicies.map(({ cluster }) => `a copy goes to ${cluster}`),
    ...(hashPolicy.length > 0 ? ["requests alike go to the same endpoint"] : []),
  ];
}
