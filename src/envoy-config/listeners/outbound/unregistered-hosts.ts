import { hostCovers, hostsOverlap, isWildcard } from "../../../istio-api/values/hostname.ts";
import type { EgressListener, OutboundScope, VirtualServiceRule } from "../../../mesh-model/push-snapshot.ts";
import type { AccessLogs } from "../../access-log/build-access-logs.ts";
import type { Wish } from "./outbound-entry.ts";
import { type ListenOn, sharedPlace } from "./places.ts";
import { buildRuleChain } from "./tcp-chains.ts";

const HTTPS_PORT = 443;

export interface UnregisteredInput {
  readonly scope: OutboundScope;
  readonly accessLogs: AccessLogs;
  readonly egress: EgressListener;
  readonly listen: ListenOn;
}

/**
 * Rules about TLS to hosts that are no services: their server names are told apart on the port of the rule, 443 if it names none. Without
 * this such a rule would do nothing, and connections that it allows would be refused where only known services may be called.
 */
export function unregisteredHosts(input: UnregisteredInput): readonly Wish[] {
  const isService = createServiceTest(input.scope);
  return input.egress.virtualServices.flatMap((rule) => {
    const hosts = rule.spec.tls.length === 0 ? [] : rule.hosts.filter((host) => !isService(host));
    return hosts.length === 0 ? [] : wishesOf(input, rule, hosts);
  });
}

function wishesOf(input: UnregisteredInput, rule: VirtualServiceRule, hosts: readonly string[]): readonly Wish[] {
  const { scope, accessLogs, egress, listen } = input;
  const { binds, isBound } = sharedPlace(scope, listen);
  return rule.spec.tls.flatMap(({ match, route }) =>
    match.flatMap((given): readonly Wish[] => {
      const sniHosts = given.sniHosts.filter((name) => hosts.some((host) => hostCovers(host, name)));
      const [host] = sniHosts;
      const port = given.port === 0 ? HTTPS_PORT : given.port;
      if (host === undefined || (egress.port !== undefined && egress.port.number !== port)) return [];
      const context = { scope, listenPort: port, accessLog: accessLogs.traffic };
      const chain = buildRuleChain(context, { rule, match: { ...given, sniHosts }, route, host });
      return chain === undefined ? [] : [{ binds, port, isBound, protocol: "TLS", owner: host, tcp: [chain] }];
    }),
  );
}

/** Names are looked up; only wildcards are compared one by one. */
function createServiceTest(scope: OutboundScope): (host: string) => boolean {
  let wildcards: readonly string[] | undefined;
  return (host) => {
    if (scope.service(host) !== undefined) return true;
    if (isWildcard(host)) return scope.services.some(({ hostname }) => hostsOverlap(hostname, host));
    wildcards ??= scope.services.map(({ hostname }) => hostname).filter(isWildcard);
    return wildcards.some((hostname) => hostCovers(hostname, host));
  };
}
