import type { TcpMatch, TlsMatch } from "../../../istio-api/specs/virtual-service.ts";
import type { ScopeTraits } from "../../../mesh-model/push-snapshot.ts";
import { selects } from "../../../mesh-model/selector.ts";

type StaticPredicates = Pick<TcpMatch & TlsMatch, "port" | "sourceLabels" | "sourceNamespace" | "gateways">;

/** Whether a match can hold for connections of such proxies to this port: what is known before any connection is made. */
export function appliesTo(match: StaticPredicates, traits: ScopeTraits, port: number): boolean {
  const { gateways, sourceLabels, sourceNamespace } = match;
  if (gateways.length > 0 && !gateways.includes("mesh")) return false;
  if (match.port !== 0 && match.port !== port) return false;
  if (sourceNamespace !== "" && sourceNamespace !== traits.namespace) return false;
  return selects(sourceLabels, traits.labels);
}
