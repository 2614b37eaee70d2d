import type { MessageTypes } from "../gen/envoy-types.ts";
import type { AnyMessage } from "../json-types.ts";
import { TYPE_PREFIX } from "../type-url.ts";

/** The message of a decoded Any, if it is of this type. */
export function messageIn<Name extends keyof MessageTypes & string>(
  any: AnyMessage | undefined,
  name: Name,
): MessageTypes[Name] | undefined {
  return any?.["@type"] === TYPE_PREFIX + name ? (any as unknown as MessageTypes[Name]) : undefined;
}

/** The type's name without what precedes it in the type URL; empty where there is none. */
export function typeNameIn(any: AnyMessage | undefined): string {
  return (any?.["@type"] ?? "").split("/").at(-1) ?? "";
}
