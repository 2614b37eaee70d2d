import { errorCode } from "../base/coded-error.ts";
import { GrpcError, type ServerWriter } from "../grpc/index.ts";
import type { XdsProtocol } from "../xds/methods.ts";
import { DUE_CHANGES, type Due } from "../xds/plan-answer.ts";
import type { ResourceSet } from "../xds/resource-source.ts";
import { createServerStream, type ServerStream } from "../xds/server-stream.ts";
import type { Decision, Subscription } from "../xds/subscription.ts";
import { createAnswerBudget, generateOne, inBatches } from "./generate.ts";
import type { SdsContext } from "./sds-context.ts";
import type { SourceSecret } from "./secret-source.ts";

export interface SecretStreamOptions {
  readonly protocol: XdsProtocol;
  typeUrl(): string;
  version(set: ResourceSet): string;
  nonce(set: ResourceSet): string;
  /** SotW cannot say that a secret is gone: the stream ends with this text. */
  deletedText(name: string): string;
  /** False while a push has to wait; `push` sends it later. */
  mayPush?(): boolean;
  /** A change was pushed, or could not be. */
  onPushed?(hasFailed: boolean): void;
}

/** The secrets one client has subscribed to, in either protocol. */
export interface SecretStream {
  readonly subscription: Subscription | undefined;
  /** Takes over what a request led to; resolves when the client has its answer. */
  apply(decision: Decision, held?: ReadonlyMap<string, string>): Promise<void>;
  /** Sends what has changed since the last response. */
  push(): Promise<void>;
}

const SDS = "SDS";

/**
 * Runs one stream to its end: requests one after the other, each with its answer, changes in between. What a secret's source or a request
 * throws becomes the status of the stream.
 */
export async function runSecretStream<Request>(
  context: SdsContext,
  call: ServerWriter<Uint8Array>,
  options: SecretStreamOptions,
  requests: AsyncIterable<Request>,
  onRequest: (request: Request, stream: SecretStream) => Promise<void>,
): Promise<void> {
  let isOver = false;
  let hasFailed = false;
  let fail: (reason: unknown) => void = () => undefined;
  const failed = new Promise<never>((_resolve, reject) => {
    fail = (reason) => {
      hasFailed = true;
      reject(reason);
    };
  });
  failed.catch(() => undefined);
  const changed = new Set<string>();
  const listeners = new Map<string, () => void>();
  const known = new Map<string, SourceSecret>();
  const unknown = new Set<string>();

  const fetch = async (names: readonly string[], due: Due): Promise<ResourceSet> => {
    const pushed = takeChanged(changed, options.protocol);
    if (changed.size > 0) stream.mark(SDS, DUE_CHANGES);
    const stale = due.everything ? names : names.filter((name) => due.names.has(name) || pushed.has(name));
    const spend = createAnswerBudget();
    await inBatches(stale, async (name) => {
      const secret = await find(name);
      spend(secret);
      if (secret === undefined && options.protocol === "sotw" && pushed.has(name) && known.has(name)) {
        throw new GrpcError("UNKNOWN", options.deletedText(name));
      }
      if (secret === undefined) known.delete(name);
      else known.set(name, secret);
    });
    const secrets = names.flatMap((name) => known.get(name) ?? []);
    return context.toSet(secrets, options.typeUrl());
  };
  /** Delta has words for a name that will never be served; in SotW it ends the stream. */
  const find = async (name: string): Promise<SourceSecret | undefined> => {
    unknown.delete(name);
    try {
      return await generateOne(context, name, call.signal);
    } catch (thrown) {
      const isUnknown = thrown instanceof GrpcError && errorCode(thrown.cause) === "unknown-name";
      if (!isUnknown || options.protocol === "sotw") throw thrown;
      unknown.add(name);
      return undefined;
    }
  };
  const stream: ServerStream<typeof SDS> = createServerStream({
    protocol: options.protocol,
    typeUrl: options.typeUrl,
    resources: (_type, { names }, due) => fetch(names.list, due),
    policy: (_type, { isWildcard }) => ({
      isWholeState: false,
      // A name without a secret yet is answered when it appears; a request without names gets its empty response.
      skipsEmpty: !isWildcard,
      isRemovable: (name) => unknown.has(name) || stream.sent(SDS)?.get(name) !== undefined,
    }),
    version: options.version,
    nonce: options.nonce,
    write: (_type, chunks) => send(context, call, chunks),
    onFailure: (_type, thrown) => fail(thrown),
    onBroken: fail,
    now: () => performance.now(),
  });
  const push = async () => {
    stream.mark(SDS, DUE_CHANGES);
    await stream.drain();
    options.onPushed?.(hasFailed);
  };
  const onChange = (name: string) => {
    if (isOver) return;
    changed.add(name);
    if (options.mayPush?.() ?? true) void push();
  };
  /** Listens before it fetches, so that no change falls between. */
  const listen = (names: ReadonlySet<string>) => {
    for (const [name, end] of listeners) {
      if (names.has(name)) continue;
      end();
      for (const names of [listeners, known, unknown, changed]) names.delete(name);
    }
    for (const name of names) {
      if (!listeners.has(name))
        listeners.set(
          name,
          context.source.onChange(name, () => onChange(name)),
        );
    }
  };
  const apply: SecretStream["apply"] = (decision, held) => {
    listen(new Set(decision.subscription?.names.list));
    return stream.apply(SDS, decision, held);
  };

  const serve = async () => {
    for await (const request of requests) {
      if (isOver) return;
      await onRequest(request, {
        subscription: stream.subscriptions.get(SDS),
        apply,
        push: async () => (changed.size > 0 ? push() : undefined),
      });
    }
  };
  try {
    await Promise.race([serve(), failed]);
  } catch (failure) {
    // A client that went away is the normal end of a stream.
    if (call.signal.aborted) return;
    if (failure instanceof GrpcError && failure.code !== "UNKNOWN" && failure.code !== "INVALID_ARGUMENT") {
      context.metrics.internalErrors.inc();
    }
    throw failure;
  } finally {
    isOver = true;
    stream.end();
    listen(new Set());
  }
}

/** A SotW response holds only the name it is about. */
function takeChanged(changed: Set<string>, protocol: XdsProtocol): ReadonlySet<string> {
  const taken = new Set(protocol === "sotw" ? [...changed].slice(0, 1) : changed);
  for (const name of taken) changed.delete(name);
  return taken;
}

/** Settles when the client's window has room, so that one stream never holds more than one response. */
function send(
  { sendTimeoutMs, metrics }: SdsContext,
  call: ServerWriter<Uint8Array>,
  chunks: readonly Uint8Array[],
): Promise<void> | undefined {
  const startMs = performance.now();
  const observe = () => metrics.sendTime.observe((performance.now() - startMs) / 1000);
  const written = call.writeChunks(chunks);
  if (written === undefined) {
    observe();
    return undefined;
  }
  if (sendTimeoutMs === undefined) return written.then(observe);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      metrics.writeTimeouts.inc();
      reject(new GrpcError("DEADLINE_EXCEEDED", `the client took no answer within ${sendTimeoutMs} ms`));
    }, sendTimeoutMs);
    written
      .then(observe)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
