import type { XdsType } from "../../xds/xds-types.ts";
import type { ProxyView } from "../push-snapshot.ts";
import { changedKinds } from "./changed-kinds.ts";
import { needsPush } from "./needs-push.ts";
import type { PushChanges } from "./push-changes.ts";

const TYPES: readonly XdsType[] = ["CDS", "EDS", "LDS", "RDS", "ECDS", "NDS", "PCDS"];
/** What of a sidecar follows from its scopes, endpoints aside. */
const OF_SCOPES: ReadonlySet<XdsType> = new Set(["CDS", "LDS", "RDS", "NDS"]);

/** The changes between the snapshots of the two views can make a difference to this proxy. */
export function proxyDependsOn(view: ProxyView, previous: ProxyView, changes: PushChanges): boolean {
  return changedTypes(view, previous, changes).size > 0;
}

/** Types of which the proxy may have other resources than before. `previous` is its view of an earlier snapshot, if it has one. */
export function changedTypes(
  view: ProxyView,
  previous: ProxyView | undefined,
  changes: PushChanges,
): ReadonlySet<XdsType> {
  // A workload that is registered otherwise may be reached by other rules, of whatever kind.
  if (previous === undefined || changes.forced || view.node !== previous.node) return new Set(TYPES);
  const kinds = changedKinds(view, previous, changes);
  const sameScopes = view.outbound.content === previous.outbound.content && view.inbound === previous.inbound;
  // Gateways are also made of rules that no scope holds.
  const skips = (type: XdsType) => sameScopes && view.node.type === "sidecar" && OF_SCOPES.has(type);
  return new Set(TYPES.filter((type) => !skips(type) && needsPush(type, kinds, view.node.type)));
}
