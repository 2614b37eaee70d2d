export type { JsonObject, JsonValue } from "./wire/struct.ts";

/** A message of which only those members are there that a document sets, at every depth. */
export type Sparse<Of> = Of extends readonly (infer Element)[]
  ? readonly Sparse<Element>[]
  : string extends keyof Of
    ? { readonly [Name in keyof Of]: Sparse<Of[Name]> }
    : Of extends object
      ? { readonly [Name in keyof Of]?: Sparse<Of[Name]> }
      : Of;

/** google.protobuf.Any in JSON form: the type's address, and the members of the message beside it. */
export interface AnyMessage {
  readonly "@type": string;
  readonly [member: string]: unknown;
}
