import { createHash } from "node:crypto";
import { createGrpcChannel, defineMethod, rawCodec } from "../../src/grpc/index.ts";
import { discoveryRequest } from "../../src/protocol/protobuf/discovery.ts";
import { encodeStruct } from "../../src/protocol/protobuf/struct.ts";
import { WIRE_BYTES, WireReader } from "../../src/protocol/protobuf/wire-reader.ts";
import { ADS_TYPES, type AdsType, nameIn, rdsNames } from "../../test/support/discovery-ads-client.ts";

const STREAM = defineMethod<"bidi", Buffer, Buffer>({
  path: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
  kind: "bidi",
  request: rawCodec,
  response: rawCodec,
});
const TYPES = Object.keys(ADS_TYPES) as AdsType[];
const RETRY_MS = 100;

export interface SotwProxyOptions {
  readonly target: string;
  readonly index: number;
  /** Called with the bytes of each answer. */
  onAnswer(type: AdsType, message: Buffer): void;
  onRetry(): void;
}

/**
 * A sidecar without data plane: asks for clusters and listeners, follows the names in them, acknowledges. Only names are read from the
 * answers, so that what is measured is the server.
 */
export function startSotwProxy(options: SotwProxyOptions): void {
  const channel = createGrpcChannel(options.target, { maxReceiveBytes: 2 ** 30, windowBytes: 1024 * 1024 });
  const run = async () => {
    for (;;) {
      await followStream(options, channel).catch(() => undefined);
      options.onRetry();
      // The server may admit only so many new streams per second.
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  };
  void run();
}

async function followStream({ index, onAnswer }: SotwProxyOptions, channel: ReturnType<typeof createGrpcChannel>) {
  const call = await channel.bidi(STREAM);
  const names: Record<AdsType, readonly string[]> = { CDS: [], EDS: [], LDS: [], RDS: [] };
  const acknowledged: Partial<Record<AdsType, Acknowledged>> = {};
  const ask = (type: AdsType, node?: ReturnType<typeof nodeOf>) => {
    const { nonce = "", version = "" } = acknowledged[type] ?? {};
    const request = {
      typeUrl: ADS_TYPES[type],
      resourceNames: [...names[type]],
      responseNonce: nonce,
      versionInfo: version,
    };
    void call
      .write(discoveryRequest.encode({ ...request, ...(node !== undefined && { node }) }))
      .catch(() => undefined);
  };
  const follow = (type: AdsType, wanted: readonly string[]) => {
    const isSame = wanted.length === names[type].length && wanted.every((name, place) => names[type][place] === name);
    if (isSame) return;
    names[type] = wanted;
    ask(type);
  };
  ask("CDS", nodeOf(index));
  for await (const message of call.responses) {
    const { type, nonce, version, resources } = readResponse(message);
    const isFirst = acknowledged[type] === undefined;
    acknowledged[type] = { nonce, version };
    ask(type);
    onAnswer(type, message);
    if (type === "CDS") {
      follow(
        "EDS",
        resources.map(nameIn).filter((name) => name.startsWith("outbound|")),
      );
      // As Envoy: listeners once the clusters are known.
      if (isFirst) ask("LDS");
    }
    if (type === "LDS") follow("RDS", routeNames(resources));
  }
}

interface Acknowledged {
  readonly nonce: string;
  readonly version: string;
}

function nodeOf(index: number) {
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

interface ReadResponse {
  readonly type: AdsType;
  readonly nonce: string;
  readonly version: string;
  /** The messages inside the resources. */
  readonly resources: readonly Buffer[];
}

function readResponse(message: Buffer): ReadResponse {
  const reader = new WireReader(message);
  const texts = new Map<number, string>();
  const resources: Buffer[] = [];
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (wire !== WIRE_BYTES) reader.skip(wire);
    else if (field === 2) resources.push(valueOfAny(reader.bytes()));
    else texts.set(field, reader.bytes().toString());
  }
  const type = TYPES.find((candidate) => ADS_TYPES[candidate] === texts.get(4));
  if (type === undefined) throw new Error(`unexpected type ${texts.get(4)}`);
  return { type, nonce: texts.get(5) ?? "", version: texts.get(1) ?? "", resources };
}

function valueOfAny(any: Buffer): Buffer {
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
function routeNames(listeners: readonly Buffer[]): readonly string[] {
  const hash = createHash("sha1");
  for (const listener of listeners) hash.update(listener);
  const key = hash.digest("hex");
  const names = known.get(key) ?? rdsNames(new Map(listeners.map((listener) => [nameIn(listener), listener])));
  known.set(key, names);
  return names;
}
