import { discoveryRequest } from "../../src/protobuf/wire/discovery.ts";
import { encodeStruct } from "../../src/protobuf/wire/struct.ts";
import { WIRE_BYTES, WireReader } from "../../src/protobuf/wire/wire-reader.ts";
import { ADS_TYPES, type AdsType, nameIn, rdsNames } from "../../test/support/xds/following-client.ts";

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
  /** What is to be asked for next: the assignments of clusters, the routes of listeners. */
  readonly names: readonly string[];
}

const RESOURCES = 2;

/** Both protocols have resources, type and nonce in the same fields; only names are read from the resources. */
export function readResponse(message: Buffer, protocol: "sotw" | "delta"): ReadResponse {
  const reader = new WireReader(message);
  const texts = new Map<number, string>();
  let [start, end] = [0, 0];
  while (!reader.atEnd) {
    const at = reader.position;
    const { field, wire } = reader.tag();
    if (wire !== WIRE_BYTES || field === RESOURCES) reader.skip(wire);
    else texts.set(field, reader.bytes().toString());
    if (field !== RESOURCES) continue;
    start ||= at;
    end = reader.position;
  }
  const type = TYPES.find((candidate) => ADS_TYPES[candidate] === texts.get(4));
  if (type === undefined) throw new Error(`unexpected type ${texts.get(4)}`);
  const names = type === "CDS" || type === "LDS" ? namesOf(message.subarray(start, end), type, protocol) : [];
  return { type, nonce: texts.get(5) ?? "", version: texts.get(1) ?? "", names };
}

interface KnownBody {
  readonly bytes: Buffer;
  readonly names: readonly string[];
}

const MAX_BODIES = 16;
const known: KnownBody[] = [];

/** Proxies alike get equal resources, which are read once: many proxies in one process must not be what is measured. */
function namesOf(body: Buffer, type: AdsType, protocol: "sotw" | "delta"): readonly string[] {
  const found = known.find(({ bytes }) => bytes.equals(body));
  if (found !== undefined) return found.names;
  const reader = new WireReader(body);
  const resources: Buffer[] = [];
  while (!reader.atEnd) {
    reader.tag();
    resources.push(protocol === "sotw" ? fieldTwo(reader.bytes()) : fieldTwo(fieldTwo(reader.bytes())));
  }
  const names =
    type === "CDS"
      ? resources.map(nameIn).filter((name) => name.startsWith("outbound|"))
      : rdsNames(new Map(resources.map((listener) => [nameIn(listener), listener])));
  known.unshift({ bytes: Buffer.from(body), names });
  if (known.length > MAX_BODIES) known.pop();
  return names;
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

const encoded = new WeakMap<readonly string[], Buffer>();

/** A request in the order of its fields, as every library writes it; names that many ask for are encoded once. */
export function encodeRequest(
  names: readonly string[],
  { versionInfo, node, typeUrl, responseNonce }: RequestParts,
): Buffer {
  const list = encoded.get(names) ?? discoveryRequest.encode({ resourceNames: [...names] });
  encoded.set(names, list);
  const head = discoveryRequest.encode({ versionInfo, ...(node !== undefined && { node }) });
  return Buffer.concat([head, list, discoveryRequest.encode({ typeUrl, responseNonce })]);
}

interface RequestParts {
  readonly versionInfo: string;
  readonly node: ReturnType<typeof nodeOf> | undefined;
  readonly typeUrl: string;
  readonly responseNonce: string;
}
