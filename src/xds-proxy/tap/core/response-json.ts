import { TYPE_PREFIX } from "../../../protobuf/type-url.ts";
import type { DiscoveryResponse } from "../../../protobuf/wire/discovery.ts";
import { type MessageShape, toProtoJson, UnknownTypeError } from "./proto-json.ts";

const LOCALITY: MessageShape = { 1: ["region", "string"], 2: ["zone", "string"], 3: ["subZone", "string"] };
const NODE: MessageShape = {
  1: ["id", "string"],
  2: ["cluster", "string"],
  3: ["metadata", "struct"],
  4: ["locality", { message: LOCALITY }],
  6: ["userAgentName", "string"],
  7: ["userAgentVersion", "string"],
};
const CONFIG_STATUS = { 0: "UNKNOWN", 1: "SYNCED", 2: "NOT_SENT", 3: "STALE", 4: "ERROR" };
const GENERIC_CONFIG: MessageShape = {
  1: ["typeUrl", "string"],
  2: ["name", "string"],
  3: ["versionInfo", "string"],
  5: ["lastUpdated", "timestamp"],
  6: ["configStatus", { names: CONFIG_STATUS }],
  9: ["isStaticResource", "bool"],
};

/** What the control plane's status pages are made of. */
const PACKED = {
  [`${TYPE_PREFIX}envoy.service.status.v3.ClientConfig`]: {
    1: ["node", { message: NODE }],
    3: ["genericXdsConfigs", { list: { message: GENERIC_CONFIG } }],
    4: ["clientScope", "string"],
  } satisfies MessageShape,
};
const RESPONSE: MessageShape = {
  1: ["versionInfo", "string"],
  2: ["resources", { list: { any: PACKED } }],
  4: ["typeUrl", "string"],
  5: ["nonce", "string"],
};

/** Proto JSON where the packed types are known; else plain JSON with the wire's names and the values in base64. */
export function responseJson(response: DiscoveryResponse, bytes: Buffer): string {
  return JSON.stringify(expanded(bytes) ?? plain(response), undefined, 2);
}

function expanded(bytes: Buffer): object | undefined {
  try {
    return toProtoJson(bytes, RESPONSE);
  } catch (failure) {
    if (failure instanceof UnknownTypeError) return undefined;
    throw failure;
  }
}

function plain({ versionInfo, resources, typeUrl, nonce }: DiscoveryResponse): object {
  return {
    ...(versionInfo !== "" && { version_info: versionInfo }),
    ...(resources.length > 0 && {
      resources: resources.map((resource) => ({
        type_url: resource.typeUrl,
        value: Buffer.from(resource.value ?? []).toString("base64"),
      })),
    }),
    ...(typeUrl !== "" && { type_url: typeUrl }),
    ...(nonce !== "" && { nonce }),
  };
}
