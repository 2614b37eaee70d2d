import type { AdsContext } from "../../../src/discovery/ads/ads-context.ts";
import { serveStream } from "../../../src/discovery/ads/serve-stream.ts";
import { Metadata } from "../../../src/grpc/metadata.ts";
import type { ServerWriter } from "../../../src/grpc/server/server-types.ts";
import {
  type Any,
  any as anyMessage,
  type DeltaDiscoveryRequest,
  type DiscoveryRequest,
  deltaDiscoveryResponse,
  discoveryResponse,
  type Node,
} from "../../../src/protobuf/wire/discovery.ts";
import { message, string } from "../../../src/protobuf/wire/message.ts";
import type { XdsProtocol } from "../../../src/xds/methods.ts";
import type { XdsType } from "../../../src/xds/xds-types.ts";
import { traitsOf, typeOfUrl, XDS_TYPES } from "../../../src/xds/xds-types.ts";

/** What a client holds of one resource. */
export interface Held {
  /** Empty in state-of-the-world answers. */
  readonly version: string;
  readonly any: Buffer;
}

/** What it wants of a type, and has. */
export interface Subscription {
  readonly isWildcard: boolean;
  readonly names: ReadonlySet<string>;
}

interface TypeState {
  wanted: Subscription;
  nonce: string;
  readonly held: Map<string, Held>;
  /** Refused: what it holds is older than what it was sent. */
  readonly refused: Set<string>;
  /** May come again although nothing changed: it was asked for. A star: all of them. */
  readonly asked: Set<string>;
}

export interface ModelClient {
  readonly protocol: XdsProtocol;
  readonly types: ReadonlyMap<XdsType, Readonly<TypeState>>;
  /** Answers that came and were not read. */
  readonly unread: number;
  /** Adds to, or takes from, what it wants of a type. A type that needs names and has none is not watched. */
  want(type: XdsType, change: { readonly add?: readonly string[]; readonly drop?: readonly string[] }): void;
  /** Reads one answer and takes or refuses it. Throws when it brought what the client had. */
  read(refuses: boolean): void;
  /** The network takes nothing more for now. */
  stall(): void;
  resume(): void;
  /** A new stream; what it holds stays. */
  reconnect(): void;
  /** From here on nothing may come again without a new subscription. */
  forgetAsked(): void;
  close(): void;
}

const named = message({ name: string(1) });

/** A client of ADS that behaves as Envoy does, on a stream without network: what arrives waits until the test reads it. */
export function createModelClient(protocol: XdsProtocol, node: Partial<Node>, context: AdsContext): ModelClient {
  const types = new Map<XdsType, TypeState>();
  let stream = openStream(protocol, context);
  let isIntroduced = false;
  const send = (request: Partial<DiscoveryRequest & DeltaDiscoveryRequest>) => {
    stream.send({ ...EMPTY[protocol], ...request, node: isIntroduced ? undefined : (node as Node) });
    isIntroduced = true;
  };
  const stateOf = (type: XdsType): TypeState => {
    const known = types.get(type);
    if (known !== undefined) return known;
    const wanted = { isWildcard: false, names: new Set<string>() };
    const made = { wanted, nonce: "", held: new Map(), refused: new Set<string>(), asked: new Set<string>() };
    types.set(type, made);
    return made;
  };
  const tell = (type: XdsType, more: Partial<DiscoveryRequest & DeltaDiscoveryRequest> = {}) => {
    const { wanted, nonce } = stateOf(type);
    const resourceNames = [...(wanted.isWildcard && wanted.names.size > 0 ? ["*"] : []), ...wanted.names];
    const base = { typeUrl: traitsOf(type).url, responseNonce: nonce, ...more };
    send(protocol === "sotw" ? { resourceNames, ...base } : base);
  };
  const forgetUnwanted = ({ wanted, held, refused }: TypeState) => {
    if (wanted.isWildcard) return;
    for (const name of [...held.keys(), ...refused]) {
      if (wanted.names.has(name)) continue;
      held.delete(name);
      refused.delete(name);
    }
  };
  const begin = (type: XdsType) => {
    const { wanted, held } = stateOf(type);
    const initialResourceVersions = new Map([...held].map(([name, { version }]) => [name, version]));
    const star = wanted.isWildcard && wanted.names.size > 0 ? ["*"] : [];
    const resourceNamesSubscribe = [...star, ...wanted.names];
    tell(type, protocol === "sotw" ? {} : { resourceNamesSubscribe, initialResourceVersions });
  };
  /** Clusters that are added again wait for their endpoints. */
  const awaitEndpoints = (clusters: Iterable<string>) => {
    const endpoints = types.get("EDS");
    for (const name of clusters) endpoints?.asked.add(name);
  };
  const readSotw = (bytes: Buffer, refuses: boolean) => {
    const { typeUrl, nonce, resources } = discoveryResponse.decode(bytes);
    const type = toType(typeUrl);
    const state = stateOf(type);
    const got = new Map(resources.map((one) => [nameOf(type, one), { version: "", any: anyMessage.encode(one) }]));
    if (got.size < resources.length) throw new Error(`${type} has a name twice`);
    const isWhole = traitsOf(type).isWholeState;
    state.nonce = nonce;
    if (refuses) for (const name of [...got.keys(), ...(isWhole ? state.held.keys() : [])]) state.refused.add(name);
    else {
      if (isWhole) {
        state.held.clear();
        state.refused.clear();
      }
      for (const [name, held] of got) {
        state.held.set(name, held);
        state.refused.delete(name);
      }
      forgetUnwanted(state);
    }
    tell(type, refuses ? { errorDetail: REFUSAL } : {});
  };
  const readDelta = (bytes: Buffer, refuses: boolean) => {
    const { typeUrl, nonce, resources, removedResources } = deltaDiscoveryResponse.decode(bytes);
    const type = toType(typeUrl);
    const state = stateOf(type);
    const got = new Map(
      resources.map(({ name = "", version = "", resource }) => [
        name,
        { version, any: anyMessage.encode(resource ?? NOTHING) },
      ]),
    );
    if (got.size < resources.length) throw new Error(`${type} has a name twice`);
    state.nonce = nonce;
    for (const [name, { version }] of got) {
      // The removal of an extension is not sent, so that it may come back as it was.
      const isHeld = type !== "ECDS" && state.held.get(name)?.version === version;
      const isRepeated = isHeld && !state.refused.has(name);
      if (isRepeated && !state.asked.has(name) && !state.asked.has("*"))
        throw new Error(`${type} ${name} came again, unchanged and not asked for`);
    }
    if (type === "CDS") awaitEndpoints(got.keys());
    for (const name of refuses ? [...got.keys(), ...removedResources] : []) state.refused.add(name);
    if (!refuses) {
      for (const [name, held] of got) {
        state.held.set(name, held);
        state.refused.delete(name);
      }
      for (const name of removedResources) {
        state.held.delete(name);
        state.refused.delete(name);
      }
      forgetUnwanted(state);
    }
    tell(type, refuses ? { errorDetail: REFUSAL } : {});
  };
  return {
    protocol,
    types,
    get unread() {
      return stream.answers.length;
    },
    want: (type, { add = [], drop = [] }) => {
      const isKnown = types.has(type);
      const state = stateOf(type);
      const names = new Set([...state.wanted.names, ...add].filter((name) => name !== "*" && !drop.includes(name)));
      const isWildcard = add.includes("*") || (state.wanted.isWildcard && !drop.includes("*"));
      state.wanted = { isWildcard, names };
      for (const name of add) state.asked.add(name);
      if (type === "CDS" && (!isKnown || add.includes("*"))) awaitEndpoints(types.get("EDS")?.wanted.names ?? []);
      forgetUnwanted(state);
      if (protocol === "sotw") tell(type);
      else if (isKnown) tell(type, { responseNonce: "", resourceNamesSubscribe: add, resourceNamesUnsubscribe: drop });
      else begin(type);
    },
    read: (refuses) => {
      const bytes = stream.answers.shift();
      if (bytes === undefined) return;
      if (protocol === "sotw") readSotw(bytes, refuses);
      else readDelta(bytes, refuses);
    },
    stall: () => stream.stall(),
    resume: () => stream.resume(),
    reconnect: () => {
      stream.end();
      stream = openStream(protocol, context);
      isIntroduced = false;
      for (const { type } of XDS_TYPES) {
        const state = types.get(type);
        if (state === undefined) continue;
        state.nonce = "";
        state.asked.clear();
        // It tells which versions it holds, so that refused ones come again.
        state.refused.clear();
        if (state.wanted.isWildcard || state.wanted.names.size > 0) begin(type);
        else types.delete(type);
      }
    },
    forgetAsked: () => {
      for (const { asked } of types.values()) asked.clear();
    },
    close: () => stream.end(),
  };
}

const NOTHING = { typeUrl: "", value: Buffer.alloc(0) };
const REFUSAL = { code: 13, message: "refused" };
const EMPTY = {
  sotw: { versionInfo: "", resourceNames: [], typeUrl: "", responseNonce: "", errorDetail: undefined },
  delta: {
    typeUrl: "",
    resourceNamesSubscribe: [],
    resourceNamesUnsubscribe: [],
    initialResourceVersions: new Map<string, string>(),
    responseNonce: "",
    errorDetail: undefined,
  },
};

function toType(url: string): XdsType {
  const type = typeOfUrl(url);
  if (type === undefined) throw new Error(`answer of type ${url}`);
  return type;
}

/** The name is the first member of every type but the name table, of which there is one. */
function nameOf(type: XdsType, { value = NOTHING.value }: Partial<Any>): string {
  return type === "NDS" || type === "PCDS" ? "" : named.decode(Buffer.from(value)).name;
}

interface ModelStream {
  readonly answers: Buffer[];
  send(request: unknown): void;
  stall(): void;
  resume(): void;
  end(): void;
}

function openStream(protocol: XdsProtocol, context: AdsContext): ModelStream {
  const answers: Buffer[] = [];
  const sent: unknown[] = [];
  let wake: () => void = () => undefined;
  let isEnded = false;
  let free: (() => void) | undefined;
  let room: Promise<void> | undefined;
  async function* requests() {
    while (!isEnded) {
      const next = sent.shift();
      if (next !== undefined) yield next;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  }
  const resume = () => {
    free?.();
    free = undefined;
    room = undefined;
  };
  const call: ServerWriter<Uint8Array> = {
    path: "",
    authority: "",
    metadata: new Metadata(),
    trailers: new Metadata(),
    deadline: undefined,
    signal: new AbortController().signal,
    peer: { address: "127.0.0.1:1", tls: undefined },
    sendHeaders: () => undefined,
    write: async (message) => void answers.push(Buffer.from(message)),
    offerGzip: () => false,
    writeChunks: (chunks: readonly Uint8Array[]) => {
      answers.push(Buffer.concat(chunks));
      return room;
    },
  };
  void serveStream(protocol, requests() as AsyncIterable<DiscoveryRequest>, call, context);
  return {
    answers,
    send: (request) => {
      sent.push(request);
      wake();
    },
    stall: () => {
      room ??= new Promise<void>((resolve) => {
        free = resolve;
      });
    },
    resume,
    end: () => {
      isEnded = true;
      resume();
      wake();
    },
  };
}
