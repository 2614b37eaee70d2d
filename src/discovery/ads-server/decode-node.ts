import type { Node } from "../../protocol/protobuf/discovery.ts";
import { decodeStruct } from "../../protocol/protobuf/struct.ts";
import type { XdsNode } from "../proxy/parse-node.ts";

/** A node of the wire with its metadata decoded. Throws a WireError when that is no Struct. */
export function decodeNode({ id = "", metadata, locality }: Partial<Node>): XdsNode {
  return {
    id,
    metadata: metadata === undefined ? {} : decodeStruct(Buffer.from(metadata)),
    ...(locality === undefined ? {} : { locality }),
  };
}
