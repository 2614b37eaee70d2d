import { WIRE_BYTES, WireReader } from "../../protobuf/wire/wire-reader.ts";
import type { XdsProtocol } from "../../xds/methods.ts";

/** What the proxy needs to know of a client's request; the bytes themselves are forwarded untouched. */
export interface RequestFacts {
  readonly typeUrl: string;
  readonly responseNonce: string;
  /** Empty in delta. */
  readonly versionInfo: string;
  readonly isNack: boolean;
  /** Of the node, which only the first request of a stream carries. */
  readonly nodeId: string;
  /** The node's user agent says so; gRPC libraries name themselves. */
  readonly isEnvoy: boolean;
  /** The encoded node, a view on the request; undefined when it carries none. */
  readonly node: Buffer | undefined;
}

interface FieldNumbers {
  readonly version: number;
  readonly node: number;
  readonly type: number;
  readonly nonce: number;
  readonly error: number;
}

const FIELDS: Readonly<Record<XdsProtocol, FieldNumbers>> = {
  sotw: { version: 1, node: 2, type: 4, nonce: 5, error: 6 },
  delta: { version: -1, node: 1, type: 2, nonce: 6, error: 7 },
};

/** Looks at the top level only. Throws a WireError for bytes that do not decode. */
export function scanRequest(kind: XdsProtocol, bytes: Buffer): RequestFacts {
  const fields = FIELDS[kind];
  let [typeUrl, responseNonce, versionInfo, isNack] = ["", "", "", false];
  let node: Buffer | undefined;
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (wire !== WIRE_BYTES) reader.skip(wire);
    else if (field === fields.type) typeUrl = reader.string();
    else if (field === fields.nonce) responseNonce = reader.string();
    else if (field === fields.version) versionInfo = reader.string();
    else if (field === fields.node) node = reader.bytes();
    else {
      if (field === fields.error) isNack = true;
      reader.skip(wire);
    }
  }
  const { id, userAgent } = node === undefined ? NO_NODE : scanNode(node);
  return { typeUrl, responseNonce, versionInfo, isNack, nodeId: id, isEnvoy: userAgent === "envoy", node };
}

interface NodeFacts {
  readonly id: string;
  readonly userAgent: string;
}

const NO_NODE: NodeFacts = { id: "", userAgent: "" };
const NODE_ID = 1;
const NODE_USER_AGENT = 6;

function scanNode(bytes: Buffer): NodeFacts {
  let [id, userAgent] = ["", ""];
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === NODE_ID && wire === WIRE_BYTES) id = reader.string();
    else if (field === NODE_USER_AGENT && wire === WIRE_BYTES) userAgent = reader.string();
    else reader.skip(wire);
  }
  return { id, userAgent };
}
