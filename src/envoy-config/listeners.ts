/** LDS of sidecars. Both functions are pure: equal input gives equal output. */

export { generateInboundListeners } from "./listeners/inbound/generate-inbound.ts";
export type { InboundPolicies } from "./listeners/inbound/inbound-policies.ts";
export { NO_POLICIES } from "./listeners/inbound/inbound-policies.ts";
export type {
  ConflictKind,
  GeneratedListeners,
  ListenerConflict,
} from "./listeners/listener-conflict.ts";
export { generateOutboundListeners } from "./listeners/outbound/generate-outbound.ts";
