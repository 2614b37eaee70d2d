import { createOwnedValues } from "../../mesh-model/derive/derived-store.ts";
import type { OutboundScope, VirtualServiceRule } from "../../mesh-model/push-snapshot.ts";
import type { Service } from "../../mesh-model/service.ts";
import { bracketHost } from "../../net/host-port.ts";
import type { Route, VirtualHost } from "../../protobuf/gen/envoy/config/route/v3.ts";
import { madeOf } from "../shared/attempt.ts";
import { clusterName } from "../shared/cluster-name.ts";
import { ANY_SCOPE } from "../shared/worlds.ts";
import { peerHeaders } from "../telemetry/metric-tags.ts";
import { describesPeers } from "../telemetry/metrics.ts";
import { buildHashPolicy } from "./destination.ts";
import { type PortForm, serviceDomains, withPort } from "./domains.ts";
import { buildHttpRoutes } from "./http-routes.ts";
import { buildRetryPolicy } from "./retries.ts";
import { routeHeaders } from "./route-configuration.ts";
import type { RuleHost } from "./rule-index.ts";
import { SESSION_FILTER, sessionOverride } from "./sessions.ts";

export interface HostContext {
  readonly scope: OutboundScope;
  readonly port: number;
  readonly form: PortForm;
  /** One more address that leads to this host alone. */
  readonly address?: string;
}

/**
 * Virtual hosts live as long as the service (or rule) they belong to, over snapshots and for all proxies alike: a change of one
 * service rebuilds one virtual host.
 */
const HOSTS = createOwnedValues<OutboundScope, VirtualHost>({ kind: ANY_SCOPE });

/** The virtual host of a service on one of its ports. The same value as before while service, rule and destinations are. */
export function serviceHost(service: Service, rules: readonly VirtualServiceRule[], context: HostContext): VirtualHost {
  const { port } = context;
  const domains = domainsOf(service, context);
  const headers = service.meshExternal ? {} : callerHeaders(context.scope);
  return HOSTS.get(context.scope, service, {
    name: hostName(port, domains, headers),
    args: rules,
    make: (scope) => {
      const ruled = firstRoutes(scope, port, rules);
      // Rules that say nothing about this caller or port leave the service as it is.
      const routes = ruled.length > 0 ? ruled : [buildDefaultRoute(scope, service, port)];
      const session = scope.mesh.persistentSessions && !isProxyless(scope) ? sessionOverride(service) : undefined;
      return {
        ...buildHost(scope, `${service.hostname}:${port}`, domains, routes),
        ...headers,
        ...(session && { typedPerFilterConfig: { [SESSION_FILTER]: session } }),
      };
    },
  });
}

/** The virtual host of a name that only rules know; undefined when they say nothing about this caller or port. */
export function ruleHost({ host, rules }: RuleHost, { scope: from, port, form }: HostContext): VirtualHost | undefined {
  const [owner] = rules;
  if (owner === undefined) return undefined;
  const domains = withPort([bracketHost(host.toLowerCase())], port, form);
  const headers = callerHeaders(from);
  const built = HOSTS.get(from, owner, {
    name: hostName(port, [host, ...domains], headers),
    args: rules,
    make: (scope) => ({
      ...buildHost(scope, `${host}:${port}`, domains, firstRoutes(scope, port, rules)),
      ...headers,
    }),
  });
  return built.routes?.length === 0 ? undefined : built;
}

/** Cheap to find, and equal for most callers: those of the service's namespace, and all others. */
function hostName(port: number, domains: readonly string[], { requestHeadersToAdd }: CallerHeaders): string {
  return `${port} ${requestHeadersToAdd === undefined ? "" : "+"} ${domains.join(" ")}`;
}

type CallerHeaders = Pick<VirtualHost, "requestHeadersToAdd">;

/** Servers of the mesh get the identity of the caller. */
function callerHeaders(scope: OutboundScope): CallerHeaders {
  return describesPeers(scope) ? { requestHeadersToAdd: peerHeaders() } : {};
}

function domainsOf(service: Service, { scope, port, form, address }: HostContext): readonly string[] {
  const domains = serviceDomains(service, scope.traits);
  return withPort(address === undefined || domains.includes(address) ? domains : [...domains, address], port, form);
}

/** Of the first rule that has some. */
function firstRoutes(scope: OutboundScope, port: number, rules: readonly VirtualServiceRule[]): readonly Route[] {
  const { traits: caller, mesh } = scope;
  for (const { spec, object } of rules) {
    const routes = madeOf(object, () =>
      buildHttpRoutes(spec.http, {
        port,
        lookup: scope,
        sessions: mesh.persistentSessions,
        caller,
        isProxyless: isProxyless(scope),
        ...(isProxyless(scope) ? {} : { origin: object }),
        forwardedHost: routeHeaders(scope).forwardedHost,
        defaultRetries: mesh.defaultRetries,
      }),
    );
    if (routes.length > 0) return routes;
  }
  return [];
}

function isProxyless({ traits }: OutboundScope): boolean {
  return traits.generator === "grpc";
}

function buildHost(
  scope: OutboundScope,
  name: string,
  domains: readonly string[],
  routes: readonly Route[],
): VirtualHost {
  const { attemptCount } = routeHeaders(scope);
  return { name, domains, ...(attemptCount && { includeRequestAttemptCount: true }), routes };
}

/** Everything to the service, where no rule says otherwise. */
function buildDefaultRoute(scope: OutboundScope, service: Service, port: number): Route {
  const hashPolicy = buildHashPolicy(scope.destinationRule(service), port, "");
  const retryPolicy = buildRetryPolicy(scope.mesh.defaultRetries, false);
  return {
    name: "default",
    match: { prefix: "/" },
    route: {
      cluster: clusterName("outbound", port, "", service.hostname),
      timeout: "0s",
      maxGrpcTimeout: "0s",
      ...(retryPolicy && { retryPolicy }),
      ...(hashPolicy && { hashPolicy: [hashPolicy] }),
    },
  };
}
