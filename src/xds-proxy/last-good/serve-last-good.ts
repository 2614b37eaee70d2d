import { wait } from "../../base/wait.ts";
import type { GrpcError, RawServerCall } from "../../grpc/index.ts";
import { deltaDiscoveryResponse, discoveryResponse } from "../../protobuf/wire/discovery.ts";
import { WireReader } from "../../protobuf/wire/wire-reader.ts";
import { WireWriter } from "../../protobuf/wire/wire-writer.ts";
import type { XdsProtocol } from "../../xds/methods.ts";
import { SECRET_TYPE } from "../../xds/type-urls.ts";
import { scanRequest } from "../core/request-facts.ts";
import type { StoredResource, StoredType } from "./core/snapshot.ts";
import { subscriptionOf } from "./core/subscription.ts";
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
 * stream, when a control plane is back: the client then reconnects and tells it the versions it has. A client that already has its
 * configuration, or is another node, gets the failure.
 */
export async function serveLastGood(options: ServeOptions): Promise<void> {
  const { kind, downstream, lastGood, failure } = options;
  const sent = new Map<string, ReadonlySet<string> | undefined>();
  let looking: Promise<void> | undefined;
  let count = 0;
  const onMessage = (message: Buffer) => {
    const { typeUrl } = scanRequest(kind, message);
    const asked = subscriptionOf(kind, typeUrl, message);
    const current = lastGood.current();
    if (looking === undefined) {
      if (current === undefined || !canServe(lastGood, kind, message)) throw failure;
      looking = probing(Buffer.from(message));
      options.onServing(current.savedAt);
    }
    if (current === undefined || typeUrl === SECRET_TYPE) return;
    const isAnswer = asked.nonce !== "";
    if (isAnswer && (asked.names === undefined || asked.names.size === 0 || isSame(sent.get(typeUrl), asked.names)))
      return;
    sent.set(typeUrl, asked.names);
    count += 1;
    const stored = current.snapshot.get(typeUrl) ?? { version: "", resources: new Map() };
    const answer = { typeUrl, nonce: `last-good-${count}`, stored, names: asked.names };
    const bytes = kind === "sotw" ? stateOfTheWorld(answer) : incremental(answer);
    downstream.writeFrameStart(bytes.length);
    return downstream.writeFrameBytes(bytes);
  };

  const done = new AbortController();
  const probing = async (request: Buffer) => {
    while (!done.signal.aborted) {
      await wait(lastGood.probeEveryMs, done.signal);
      if (!done.signal.aborted) await options.probe(request, done.signal).catch(() => undefined);
    }
  };
  try {
    await Promise.race([options.receive(onMessage), lastGood.reachable(done.signal)]);
  } finally {
    done.abort();
    await looking;
  }
}

/** Whether this is the first request of the node's own Envoy, which starts without any configuration, and there is some for it. */
export function canServe(lastGood: LastGood, kind: XdsProtocol, first: Buffer): boolean {
  if (lastGood.current() === undefined) return false;
  try {
    const { typeUrl, nodeId, isEnvoy } = scanRequest(kind, first);
    return isEnvoy && nodeId === lastGood.nodeId && !subscriptionOf(kind, typeUrl, first).hasVersions;
  } catch {
    // Who reads it says what is wrong with it.
    return false;
  }
}

interface Answer {
  readonly typeUrl: string;
  readonly nonce: string;
  readonly stored: StoredType;
  readonly names: ReadonlySet<string> | undefined;
}

function stateOfTheWorld({ typeUrl, nonce, stored, names }: Answer): Buffer {
  const writer = new WireWriter();
  for (const [, { any }] of chosen(stored, names)) writer.bytes(2, any);
  return Buffer.concat([writer.finish(), discoveryResponse.encode({ versionInfo: stored.version, typeUrl, nonce })]);
}

/** Names that are not there are said to be removed, else the client would wait for them. */
function incremental({ typeUrl, nonce, stored, names }: Answer): Buffer {
  const writer = new WireWriter();
  for (const [name, { version, any }] of chosen(stored, names)) {
    const resource = new WireWriter();
    resource.string(1, version);
    resource.bytes(2, any);
    resource.string(3, name);
    writer.bytes(2, resource.finish());
  }
  const removedResources = [...(names ?? [])].filter((name) => !stored.resources.has(name));
  const rest = deltaDiscoveryResponse.encode({ systemVersionInfo: stored.version, typeUrl, nonce, removedResources });
  return Buffer.concat([writer.finish(), rest]);
}

function chosen(stored: StoredType, names: ReadonlySet<string> | undefined): [string, StoredResource][] {
  return [...stored.resources].filter(([name]) => names === undefined || names.has(name));
}

function isSame(before: ReadonlySet<string> | undefined, now: ReadonlySet<string>): boolean {
  return before !== undefined && before.size === now.size && [...now].every((name) => before.has(name));
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
