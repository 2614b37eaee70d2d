import { wait } from "../../base/wait.ts";
import type { GrpcError, RawServerCall } from "../../grpc/index.ts";
import { deltaDiscoveryRequest, discoveryRequest } from "../../protobuf/wire/discovery.ts";
import { WireReader } from "../../protobuf/wire/wire-reader.ts";
import type { XdsProtocol } from "../../xds/methods.ts";
import { createNameList } from "../../xds/name-list.ts";
import { createResourceSet } from "../../xds/resource-set.ts";
import { createServerStream } from "../../xds/server-stream.ts";
import { nextSubscription } from "../../xds/subscription.ts";
import { needsNames, SECRET_TYPE } from "../../xds/type-urls.ts";
import { scanRequest } from "../core/request-facts.ts";
import { readRequest } from "./core/read-request.ts";
import type { LastGood } from "./start-last-good.ts";

export interface ServeOptions {
  readonly kind: XdsProtocol;
  readonly downstream: RawServerCall;
  /** Hands the client's requests over, from the first one on; settles when there are no more. */
  receive(take: (message: Buffer) => void | Promise<void>): Promise<void>;
  readonly lastGood: LastGood;
  /** The status of a client that cannot be served from here. */
  readonly failure: GrpcError;
  /** The client is served from now on. */
  onServing(savedAt: number): void;
  /** Asks a control plane what the client has asked first, and notes it when one answers. */
  probe(request: Buffer, signal: AbortSignal): Promise<void>;
}

/**
 * Answers a client that starts while no control plane can be reached, with what it had accepted before. Resolves, and so ends the
 * stream, when a control plane is back: the client then reconnects and sends it the versions it has. A client that already has its
 * configuration, or is another node, gets the failure.
 */
export async function serveLastGood(options: ServeOptions): Promise<void> {
  const { kind, lastGood, failure } = options;
  let looking: Promise<void> | undefined;
  let fail: (reason: unknown) => void = () => undefined;
  const failed = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  const stream = createLastGoodStream(options, (thrown) => fail(thrown));
  const onMessage = (message: Buffer) => {
    const request = kind === "sotw" ? discoveryRequest.decode(message) : deltaDiscoveryRequest.decode(message);
    const { typeUrl } = request;
    const current = lastGood.current();
    if (looking === undefined) {
      if (current === undefined || !canServe(lastGood, kind, message)) throw failure;
      looking = probing(Buffer.from(message));
      options.onServing(current.savedAt);
    }
    if (current === undefined || typeUrl === SECRET_TYPE) return undefined;
    const rules = { needsNames: needsNames(typeUrl), toNameList: createNameList };
    return stream.apply(typeUrl, nextSubscription(stream.subscriptions.get(typeUrl), request, rules));
  };

  const done = new AbortController();
  const probing = async (request: Buffer) => {
    while (!done.signal.aborted) {
      await wait(lastGood.probeEveryMs, done.signal);
      if (!done.signal.aborted) await options.probe(request, done.signal).catch(() => undefined);
    }
  };
  try {
    await Promise.race([options.receive(onMessage), lastGood.reachable(done.signal), failed]);
  } finally {
    done.abort();
    stream.end();
    await looking;
  }
}

/** Whether this is the first request of the node's own Envoy, which starts without any configuration, and there is some for it. */
export function canServe(lastGood: LastGood, kind: XdsProtocol, first: Buffer): boolean {
  if (lastGood.current() === undefined) return false;
  try {
    const { typeUrl, nodeId, isEnvoy } = scanRequest(kind, first);
    return isEnvoy && nodeId === lastGood.nodeId && !readRequest(kind, typeUrl, first).hasVersions;
  } catch {
    // The reader of the request reports what is wrong with it.
    return false;
  }
}

/** Names that are not stored are sent as removed in delta, else the client would wait for them. */
function createLastGoodStream({ kind, downstream, lastGood }: ServeOptions, fail: (thrown: unknown) => void) {
  let count = 0;
  const stored = (typeUrl: string) => lastGood.current()?.snapshot.get(typeUrl);
  return createServerStream<string>({
    protocol: kind,
    typeUrl: (typeUrl) => typeUrl,
    resources: (typeUrl, { isWildcard, names }) => {
      const all = [...(stored(typeUrl)?.resources ?? [])].map(([name, resource]) => ({ name, ...resource }));
      return createResourceSet(isWildcard ? all : all.filter(({ name }) => names.has(name)));
    },
    policy: (typeUrl) => ({ isWholeState: !needsNames(typeUrl), skipsEmpty: false, isRemovable: () => true }),
    version: (_set, typeUrl) => stored(typeUrl)?.version ?? "",
    nonce: () => {
      count += 1;
      return `last-good-${count}`;
    },
    write: (_type, chunks) => {
      downstream.writeFrameStart(chunks.reduce((sum, { length }) => sum + length, 0));
      let room: Promise<void> | undefined;
      for (const chunk of chunks) if (chunk.length > 0) room = downstream.writeFrameBytes(chunk) ?? room;
      return room;
    },
    onFailure: (_type, thrown) => fail(thrown),
    onBroken: fail,
    now: () => performance.now(),
  });
}

/** The payload of a stored Any. */
export function anyValue(any: Buffer): Buffer {
  const reader = new WireReader(any);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === 2 && wire === 2) return reader.bytes();
    reader.skip(wire);
  }
  return Buffer.alloc(0);
}
