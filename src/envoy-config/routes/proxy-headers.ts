import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";

/** What requests are told by headers of the proxy's own. */
export interface RouteHeaders {
  /** How often a request was tried. */
  readonly attemptCount: boolean;
  /** The host that was asked for, where it is rewritten. */
  readonly forwardedHost: boolean;
}

export function routeHeaders({ traits, mesh }: OutboundScope): RouteHeaders {
  const { attemptCount, xForwardedHost } = traits.listening.headers ?? mesh.proxyHeaders;
  return { attemptCount: attemptCount?.disabled !== true, forwardedHost: xForwardedHost?.enabled === true };
}
