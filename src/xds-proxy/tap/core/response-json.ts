import { decodeMessage } from "../../../protobuf/binary/decode-message.ts";
import { TABLES } from "../../../protobuf/gen/tables/status.ts";
import { MessageTables } from "../../../protobuf/message-tables.ts";
import { TYPE_PREFIX } from "../../../protobuf/type-url.ts";
import type { DiscoveryResponse } from "../../../protobuf/wire/discovery.ts";

const MESSAGES = new MessageTables(TABLES);

/** Proto JSON where the packed types are known; else plain JSON with the wire's names and the values in base64. */
export function responseJson(response: DiscoveryResponse): string {
  return JSON.stringify(expanded(response) ?? plain(response), undefined, 2);
}

/** Undefined for a type that the control plane's status pages are not made of. */
function expanded({ versionInfo, resources, typeUrl, nonce }: DiscoveryResponse): object | undefined {
  const names = resources.map((resource) => resource.typeUrl?.replace(TYPE_PREFIX, "") ?? "");
  if (!names.every((name) => MESSAGES.has(name))) return undefined;
  return {
    ...(versionInfo !== "" && { versionInfo }),
    ...(resources.length > 0 && {
      resources: resources.map((resource, at) => ({
        "@type": resource.typeUrl,
        ...decodeMessage(MESSAGES.message(names[at] ?? ""), Buffer.from(resource.value ?? [])),
      })),
    }),
    ...(typeUrl !== "" && { typeUrl }),
    ...(nonce !== "" && { nonce }),
  };
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
