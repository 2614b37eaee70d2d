import type { XdsType } from "./resource-source.ts";

interface XdsTypeTraits {
  readonly type: XdsType;
  readonly url: string;
  /** Lower case name in metrics. */
  readonly metric: string;
  /** Clients say which ones they want; without names there is nothing to send. */
  readonly needsNames: boolean;
  /** An answer replaces everything the client had of the type; of other types it may hold a part. */
  readonly isWholeState: boolean;
  /** No resource means that there is nothing to say, not that everything is gone. */
  readonly isSilentWhenEmpty: boolean;
}

const PREFIX = "type.googleapis.com/";

/** In the order in which they are sent: what is referred to comes before what refers to it. */
export const XDS_TYPES: readonly XdsTypeTraits[] = [
  traits("CDS", "envoy.config.cluster.v3.Cluster", { isWholeState: true }),
  traits("EDS", "envoy.config.endpoint.v3.ClusterLoadAssignment", { needsNames: true }),
  traits("LDS", "envoy.config.listener.v3.Listener", { isWholeState: true }),
  traits("RDS", "envoy.config.route.v3.RouteConfiguration", { needsNames: true }),
  traits("ECDS", "envoy.config.core.v3.TypedExtensionConfig", { needsNames: true }),
  traits("NDS", "istio.networking.nds.v1.NameTable", { isWholeState: true, isSilentWhenEmpty: true }),
  traits("PCDS", "istio.mesh.v1alpha1.ProxyConfig", { isWholeState: true, isSilentWhenEmpty: true }),
];

/** How a VM's agent tells whether its application is well; it is never answered. */
export const HEALTH_URL = `${PREFIX}istio.v1.HealthInformation`;

const BY_URL: ReadonlyMap<string, XdsTypeTraits> = new Map(XDS_TYPES.map((each) => [each.url, each]));
const BY_TYPE: ReadonlyMap<XdsType, XdsTypeTraits> = new Map(XDS_TYPES.map((each) => [each.type, each]));

export function typeOfUrl(url: string): XdsType | undefined {
  return BY_URL.get(url)?.type;
}

export function traitsOf(type: XdsType): XdsTypeTraits {
  const found = BY_TYPE.get(type);
  if (found === undefined) throw new Error(`xDS type ${type} has no traits`);
  return found;
}

function traits(
  type: XdsType,
  message: string,
  given: Partial<Pick<XdsTypeTraits, "needsNames" | "isWholeState" | "isSilentWhenEmpty">>,
): XdsTypeTraits {
  return {
    type,
    url: `${PREFIX}${message}`,
    metric: type.toLowerCase(),
    needsNames: false,
    isWholeState: false,
    isSilentWhenEmpty: false,
    ...given,
  };
}
