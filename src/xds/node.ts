import type { Node } from "../protobuf/wire/discovery.ts";
import { decodeStruct, encodeStruct, type JsonObject } from "../protobuf/wire/struct.ts";

/** envoy.config.core.v3.Node with its metadata as JSON. */
export interface NodeFields {
  readonly id: string;
  readonly cluster?: string;
  readonly metadata: JsonObject;
  readonly locality?: { readonly region?: string; readonly zone?: string; readonly subZone?: string };
}

export function encodeNode({ metadata, ...fields }: NodeFields): Partial<Node> {
  return { ...fields, metadata: encodeStruct(metadata) };
}

/** Throws a WireError when the metadata is not a Struct. */
export function decodeNode({ id = "", cluster = "", metadata, locality }: Partial<Node>): NodeFields {
  return {
    id,
    ...(cluster !== "" && { cluster }),
    metadata: metadata === undefined ? {} : decodeStruct(Buffer.from(metadata)),
    ...(locality === undefined ? {} : { locality }),
  };
}
