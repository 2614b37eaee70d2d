export type { JsonObject, JsonValue } from "./wire/struct.ts";

/** google.protobuf.Any in JSON form: the type's address, and the members of the message beside it. */
export interface AnyMessage {
  readonly "@type": string;
  readonly [member: string]: unknown;
}
