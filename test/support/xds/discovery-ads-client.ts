import { createGrpcChannel } from "../../../src/grpc/client/create-grpc-channel.ts";
import { defineMethod } from "../../../src/grpc/method.ts";
import { decodeMessage } from "../../../src/protobuf/envoy/index.ts";
import {
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  type DiscoveryRequest,
  type DiscoveryResponse,
  deltaDiscoveryRequest,
  deltaDiscoveryResponse,
  discoveryRequest,
  discoveryResponse,
} from "../../../src/protobuf/wire/discovery.ts";
import { encodeStruct, type JsonObject } from "../../../src/protobuf/wire/struct.ts";
import { WIRE_BYTES, WireReader } from "../../../src/protobuf/wire/wire-reader.ts";
import { ADS_PATHS } from "../../../src/xds/methods.ts";
import { CLUSTER_TYPE, ENDPOINT_TYPE, LISTENER_TYPE, ROUTE_TYPE } from "../../../src/xds/type-urls.ts";

export const ADS_TYPES = { CDS: CLUSTER_TYPE, EDS: ENDPOINT_TYPE, LDS: LISTENER_TYPE, RDS: ROUTE_TYPE } as const;
export type AdsType = keyof typeof ADS_TYPES;

export interface AdsResponse {
  readonly type: AdsType;
  readonly names: readonly string[];
  readonly removed: readonly string[];
  readonly version: string;
}

/** A proxy without data plane: subscribes as Envoy does, ACKs everything and caches what it got. */
export interface AdsClient extends AsyncDisposable {
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

const SOTW = defineMethod<"bidi", Partial<DiscoveryRequest>, DiscoveryResponse>({
  path: ADS_PATHS.sotw,
  kind: "bidi",
  request: discoveryRequest as never,
  response: discoveryResponse,
});
const DELTA = defineMethod<"bidi", Partial<DeltaDiscoveryRequest>, DeltaDiscoveryResponse>({
  path: ADS_PATHS.delta,
  kind: "bidi",
  request: deltaDiscoveryRequest as never,
  response: deltaDiscoveryResponse,
});

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

export async function connectAds(target: string, protocol: "sotw" | "delta", node: AdsNode): Promise<AdsClient> {
  const channel = createGrpcChannel(target, { maxReceiveBytes: 256 * 1024 * 1024, windowBytes: 4 * 1024 * 1024 });
  const given = { id: node.id, metadata: encodeStruct(node.metadata) };
  const { ask, updates } = protocol === "sotw" ? await openSotw(channel, given) : await openDelta(channel, given);
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
    if (!isSame) ask(type, names, added, "", "");
  };
  const running = (async () => {
    for await (const update of updates) {
      const { type, nonce, version, resources, removed, isWhole } = update;
      responses.push({ type, names: [...resources.keys()], removed, version });
      if (isWhole) state[type].clear();
      for (const [name, bytes] of resources) state[type].set(name, bytes);
      for (const name of removed) state[type].delete(name);
      ask(type, subscribed[type], [], nonce, version);
      if (type === "CDS") follow("EDS", edsNames(state.CDS));
      if (type === "LDS") follow("RDS", rdsNames(state.LDS));
    }
  })().catch((thrown: unknown) => {
    failure = String(thrown);
  });
  ask("CDS", [], [], "", "");
  ask("LDS", [], [], "", "");
  return {
    responses,
    resources: (type) => state[type],
    get failure() {
      return failure;
    },
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await running;
    },
  };
}

type Channel = ReturnType<typeof createGrpcChannel>;
type GivenNode = { readonly id: string; readonly metadata: Buffer };

async function openSotw(channel: Channel, node: GivenNode) {
  const call = await channel.bidi(SOTW);
  let isFirst = true;
  // A request with an empty nonce would be a new stream's first: later lists go out with the last nonce of their type.
  const nonces = new Map<AdsType, readonly [nonce: string, version: string]>();
  const ask: Ask = (type, names, _added, nonce, version) => {
    if (nonce !== "") nonces.set(type, [nonce, version]);
    const [responseNonce, versionInfo] = nonces.get(type) ?? ["", ""];
    void call
      .write({
        ...(isFirst && { node }),
        typeUrl: ADS_TYPES[type],
        resourceNames: [...names],
        responseNonce,
        versionInfo,
      })
      .catch(() => undefined);
    isFirst = false;
  };
  async function* updates(): AsyncGenerator<Update> {
    for await (const { typeUrl, nonce, versionInfo, resources } of call.responses) {
      const type = typeOf(typeUrl);
      const named = resources.map(({ value = NOTHING }) => {
        const bytes = Buffer.from(value);
        return [nameIn(bytes), bytes] as const;
      });
      const isWhole = type === "CDS" || type === "LDS";
      yield { type, nonce, version: versionInfo, resources: new Map(named), removed: [], isWhole };
    }
  }
  return { ask, updates: updates() };
}

async function openDelta(channel: Channel, node: GivenNode) {
  const call = await channel.bidi(DELTA);
  let isFirst = true;
  const ask: Ask = (type, _names, added, nonce) => {
    void call
      .write({
        ...(isFirst && { node }),
        typeUrl: ADS_TYPES[type],
        resourceNamesSubscribe: [...added],
        responseNonce: nonce,
      })
      .catch(() => undefined);
    isFirst = false;
  };
  async function* updates(): AsyncGenerator<Update> {
    for await (const { typeUrl, nonce, systemVersionInfo, resources, removedResources } of call.responses) {
      const named = resources.map(
        ({ name = "", resource }) => [name, Buffer.from(resource?.value ?? NOTHING)] as const,
      );
      const version = systemVersionInfo;
      const removed = removedResources;
      yield { type: typeOf(typeUrl), nonce, version, resources: new Map(named), removed, isWhole: false };
    }
  }
  return { ask, updates: updates() };
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
