import type { XdsNode } from "../../mesh-model/proxy/parse-node.ts";
import type { Node } from "../../protobuf/wire/discovery.ts";
import { decodeStruct } from "../../protobuf/wire/struct.ts";

/** A node of the wire with its metadata decoded. Throws a WireError when that is no Struct. */
export function decodeNode({ id = "", metadata, locality }: Partial<Node>): XdsNode {
  return {
    id,
    metadata: metadata === undefined ? {} : decodeStruct(Buffer.from(metadata)),
    ...(locality === undefined ? {} : { locality }),
  };
}
