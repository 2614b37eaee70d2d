import { createHash } from "node:crypto";
import { encodeStruct } from "../../src/protocol/protobuf/struct.ts";
import { WIRE_BYTES, WireReader } from "../../src/protocol/protobuf/wire-reader.ts";
import { ADS_TYPES, type AdsType, nameIn, rdsNames } from "../../test/support/discovery-ads-client.ts";

const TYPES = Object.keys(ADS_TYPES) as AdsType[];

export function nodeOf(index: number) {
  const address = `10.200.${index >> 8}.${index & 255}`;
  return {
    id: `sidecar~${address}~proxy-${index}.default~default.svc.cluster.local`,
    metadata: encodeStruct({
      NAMESPACE: "default",
      CLUSTER_ID: "Kubernetes",
      INSTANCE_IPS: address,
      LABELS: { app: "client" },
    }),
  };
}

export interface ReadResponse {
  readonly type: AdsType;
  readonly nonce: string;
  readonly version: string;
  /** The messages inside the resources. */
  readonly resources: readonly Buffer[];
}

/** Both protocols have resources, type and nonce in the same fields; only names are read from the resources. */
export function readResponse(message: Buffer, protocol: "sotw" | "delta"): ReadResponse {
  const reader = new WireReader(message);
  const texts = new Map<number, string>();
  const resources: Buffer[] = [];
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (wire !== WIRE_BYTES) reader.skip(wire);
    else if (field === 2)
      resources.push(protocol === "sotw" ? fieldTwo(reader.bytes()) : fieldTwo(fieldTwo(reader.bytes())));
    else texts.set(field, reader.bytes().toString());
  }
  const type = TYPES.find((candidate) => ADS_TYPES[candidate] === texts.get(4));
  if (type === undefined) throw new Error(`unexpected type ${texts.get(4)}`);
  return { type, nonce: texts.get(5) ?? "", version: texts.get(1) ?? "", resources };
}

/** The value of an Any, and the Any of a delta resource. */
function fieldTwo(any: Buffer): Buffer {
  const reader = new WireReader(any);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === 2 && wire === WIRE_BYTES) return reader.bytes();
    reader.skip(wire);
  }
  return Buffer.alloc(0);
}

const known = new Map<string, readonly string[]>();

/** Proxies alike have equal listeners: decoded once. */
export function routeNames(listeners: readonly Buffer[]): readonly string[] {
  const hash = createHash("sha1");
  for (const listener of listeners) hash.update(listener);
  const key = hash.digest("hex");
  const names = known.get(key) ?? rdsNames(new Map(listeners.map((listener) => [nameIn(listener), listener])));
  known.set(key, names);
  return names;
}
