import type { ConfigSnapshot } from "./config-store.ts";
import type { DestinationRuleIndex } from "./indexes/destination-rule-index.ts";
import type { EndpointIndex } from "./indexes/endpoint-index.ts";
import type { PeerAuthenticationIndex } from "./indexes/peer-authentication-index.ts";
import type { ServiceIndex } from "./indexes/service-index.ts";
import type { VirtualServiceIndex } from "./indexes/virtual-service-index.ts";
import type { MeshSettings } from "./mesh-settings.ts";
import type { TokenKeys } from "./token-keys.ts";

/** What scopes are made of. A part that did not change is the same value as in the snapshot before. */
export interface SnapshotParts {
  readonly mesh: MeshSettings;
  readonly configs: ConfigSnapshot;
  readonly tokenKeys: TokenKeys;
  readonly services: ServiceIndex;
  readonly endpoints: EndpointIndex;
  readonly virtualServices: VirtualServiceIndex;
  readonly destinationRules: DestinationRuleIndex;
  readonly peerAuthentications: PeerAuthenticationIndex;
}
