import { decodeMessage } from "../../../src/protobuf/envoy/index.ts";
import { encodeStruct, type JsonObject } from "../../../src/protobuf/wire/struct.ts";
import { WIRE_BYTES, WireReader } from "../../../src/protobuf/wire/wire-reader.ts";
import type { XdsProtocol } from "../../../src/xds/methods.ts";
import { CLUSTER_TYPE, ENDPOINT_TYPE, LISTENER_TYPE, ROUTE_TYPE } from "../../../src/xds/type-urls.ts";
import { type AdsClientOptions, openDelta, openSotw, type StreamEnd } from "./ads-client.ts";

export const ADS_TYPES = { CDS: CLUSTER_TYPE, EDS: ENDPOINT_TYPE, LDS: LISTENER_TYPE, RDS: ROUTE_TYPE } as const;
export type AdsType = keyof typeof ADS_TYPES;

export interface AdsResponse {
  readonly type: AdsType;
  readonly names: readonly string[];
  readonly removed: readonly string[];
  readonly version: string;
}

/** A proxy without data plane: subscribes as Envoy does, ACKs everything and caches what it got. */
export interface FollowingClient extends AsyncDisposable {
  /** Everything received, in order. */
  readonly responses: readonly AdsResponse[];
  /** Bytes of each resource by name. */
  resources(type: AdsType): ReadonlyMap<string, Buffer>;
  /** Why the stream ended, if it did. */
  readonly failure: string | undefined;
}

export interface AdsNode {
  readonly id: string;
  readonly metadata: JsonObject;
}

interface Update {
  readonly type: AdsType;
  readonly nonce: string;
  readonly version: string;
  readonly resources: ReadonlyMap<string, Buffer>;
  readonly removed: readonly string[];
  /** The answer replaces what was there. */
  readonly isWhole: boolean;
}

/** Sends a request: what to subscribe to in addition, and the whole list. */
type Ask = (type: AdsType, names: readonly string[], added: readonly string[], nonce: string, version: string) => void;

export function followAds(port: number, protocol: XdsProtocol, node: AdsNode): FollowingClient {
  const state: Record<AdsType, Map<string, Buffer>> = {
    CDS: new Map(),
    EDS: new Map(),
    LDS: new Map(),
    RDS: new Map(),
  };
  const subscribed: Record<AdsType, readonly string[]> = { CDS: [], EDS: [], LDS: [], RDS: [] };
  const responses: AdsResponse[] = [];
  let failure: string | undefined;
  const follow = (type: "EDS" | "RDS", names: readonly string[]) => {
    const added = names.filter((name) => !subscribed[type].includes(name));
    const isSame = added.length === 0 && names.length === subscribed[type].length;
    subscribed[type] = names;
    if (!isSame) stream.ask(type, names, added, "", "");
  };
  const onUpdate = ({ type, nonce, version, resources, removed, isWhole }: Update) => {
    responses.push({ type, names: [...resources.keys()], removed, version });
    if (isWhole) state[type].clear();
    for (const [name, bytes] of resources) state[type].set(name, bytes);
    for (const name of removed) state[type].delete(name);
    stream.ask(type, subscribed[type], [], nonce, version);
    if (type === "CDS") follow("EDS", edsNames(state.CDS));
    if (type === "LDS") follow("RDS", rdsNames(state.LDS));
  };
  const given = { id: node.id, metadata: encodeStruct(node.metadata) };
  const options = { port, windowBytes: 4 * 1024 * 1024 };
  const stream = protocol === "sotw" ? followSotw(options, given, onUpdate) : followDelta(options, given, onUpdate);
  void stream.ended.then(({ code, message }) => {
    failure = `${code} ${message}`;
  });
  stream.ask("CDS", [], [], "", "");
  stream.ask("LDS", [], [], "", "");
  return {
    responses,
    resources: (type) => state[type],
    get failure() {
      return failure;
    },
    [Symbol.asyncDispose]: () => stream.close(),
  };
}

type GivenNode = { readonly id: string; readonly metadata: Buffer };

interface FollowedStream {
  readonly ask: Ask;
  readonly ended: Promise<StreamEnd>;
  close(): PromiseLike<void>;
}

function followSotw(options: AdsClientOptions, node: GivenNode, onUpdate: (update: Update) => void): FollowedStream {
  let isFirst = true;
  // A request with an empty nonce would be a new stream's first: later lists go out with the last nonce of their type.
  const nonces = new Map<AdsType, readonly [nonce: string, version: string]>();
  const stream = openSotw(options, ({ typeUrl, nonce, versionInfo, resources }) => {
    const type = typeOf(typeUrl);
    const named = resources.map(({ value = NOTHING }) => {
      const bytes = Buffer.from(value);
      return [nameIn(bytes), bytes] as const;
    });
    const isWhole = type === "CDS" || type === "LDS";
    onUpdate({ type, nonce, version: versionInfo, resources: new Map(named), removed: [], isWhole });
  });
  const ask: Ask = (type, names, _added, nonce, version) => {
    if (nonce !== "") nonces.set(type, [nonce, version]);
    const [responseNonce, versionInfo] = nonces.get(type) ?? ["", ""];
    const list = { typeUrl: ADS_TYPES[type], resourceNames: [...names], responseNonce, versionInfo };
    stream.send({ ...(isFirst && { node }), ...list });
    isFirst = false;
  };
  return { ask, ended: stream.ended, close: () => stream[Symbol.asyncDispose]() };
}

function followDelta(options: AdsClientOptions, node: GivenNode, onUpdate: (update: Update) => void): FollowedStream {
  let isFirst = true;
  const stream = openDelta(options, ({ typeUrl, nonce, systemVersionInfo, resources, removedResources }) => {
    const named = resources.map(({ name = "", resource }) => [name, Buffer.from(resource?.value ?? NOTHING)] as const);
    const [version, removed] = [systemVersionInfo, removedResources];
    onUpdate({ type: typeOf(typeUrl), nonce, version, resources: new Map(named), removed, isWhole: false });
  });
  const ask: Ask = (type, _names, added, nonce) => {
    const list = { typeUrl: ADS_TYPES[type], resourceNamesSubscribe: [...added], responseNonce: nonce };
    stream.send({ ...(isFirst && { node }), ...list });
    isFirst = false;
  };
  return { ask, ended: stream.ended, close: () => stream[Symbol.asyncDispose]() };
}

function typeOf(typeUrl: string): AdsType {
  const found = (Object.keys(ADS_TYPES) as AdsType[]).find((type) => ADS_TYPES[type] === typeUrl);
  if (found === undefined) throw new Error(`not subscribed to ${typeUrl}`);
  return found;
}

const NOTHING = new Uint8Array();

/** Field 1 is the name in all four types; fields may come in any order. */
export function nameIn(bytes: Buffer): string {
  const reader = new WireReader(bytes);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === 1 && wire === WIRE_BYTES) return reader.bytes().toString();
    reader.skip(wire);
  }
  return "";
}

export function edsNames(clusters: ReadonlyMap<string, Buffer>): readonly string[] {
  return [...clusters.values()].flatMap((bytes) => {
    const { type, name, edsClusterConfig } = decodeMessage("envoy.config.cluster.v3.Cluster", bytes);
    return type === "EDS" ? [edsClusterConfig?.serviceName ?? name ?? ""] : [];
  });
}

export function rdsNames(listeners: ReadonlyMap<string, Buffer>): readonly string[] {
  const names = [...listeners.values()].flatMap((bytes) => {
    const text = JSON.stringify(decodeMessage("envoy.config.listener.v3.Listener", bytes));
    return [...text.matchAll(/"routeConfigName":("(?:[^"\\]|\\.)*")/g)].map(
      ([, name = '""']) => JSON.parse(name) as string,
    );
  });
  return [...new Set(names)];
}
