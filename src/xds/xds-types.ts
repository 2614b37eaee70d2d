import {
  BOOTSTRAP_TYPE,
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  EXTENSION_TYPE,
  LISTENER_TYPE,
  NAME_TABLE_TYPE,
  needsNames,
  PROXY_CONFIG_TYPE,
  ROUTE_TYPE,
  SECRET_TYPE,
} from "./type-urls.ts";

/** The types a control plane generates, by their short names. */
export type XdsType = "CDS" | "EDS" | "LDS" | "RDS" | "SDS" | "NDS" | "PCDS" | "ECDS" | "BDS";

interface XdsTypeTraits {
  readonly type: XdsType;
  readonly url: string;
  /** Lower case name in metrics. */
  readonly metric: string;
  /** Subscribed to by name only: there is no wildcard subscription. */
  readonly needsNames: boolean;
  /** A SotW response replaces everything the client has of the type; of other types it may carry a part. */
  readonly isWholeState: boolean;
  /** Without resources no response is sent: an empty one would say that everything is gone. */
  readonly skipsEmpty: boolean;
}

/** In the order in which they are sent: what is referred to comes before what refers to it. */
export const XDS_TYPES: readonly XdsTypeTraits[] = [
  traits("CDS", CLUSTER_TYPE, { isWholeState: true }),
  traits("EDS", ENDPOINT_TYPE),
  traits("LDS", LISTENER_TYPE, { isWholeState: true }),
  traits("RDS", ROUTE_TYPE),
  // What is not there yet follows when it is; what is gone stays with the client.
  traits("SDS", SECRET_TYPE, { skipsEmpty: true }),
  traits("ECDS", EXTENSION_TYPE),
  traits("NDS", NAME_TABLE_TYPE, { isWholeState: true, skipsEmpty: true }),
  traits("PCDS", PROXY_CONFIG_TYPE, { isWholeState: true, skipsEmpty: true }),
  // Asked for by agents before their Envoy starts, on streams of its own.
  traits("BDS", BOOTSTRAP_TYPE, { isWholeState: true, skipsEmpty: true }),
];

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
  url: string,
  given: Partial<Pick<XdsTypeTraits, "isWholeState" | "skipsEmpty">> = {},
): XdsTypeTraits {
  const metric = type.toLowerCase();
  return { type, url, metric, needsNames: needsNames(url), isWholeState: false, skipsEmpty: false, ...given };
}
