import type { MessageTypes } from "../gen/message-types.ts";
import { TYPE_PREFIX } from "../type-url.ts";
import type { AnyMessage } from "./json-types.ts";

export type MessageName = keyof MessageTypes & string;

/** A message as the value of an Any. */
export function pack<Name extends MessageName>(name: Name, value: MessageTypes[Name]): AnyMessage {
  return { "@type": TYPE_PREFIX + name, ...value };
}
