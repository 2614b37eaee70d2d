import type { XdsProtocol } from "../../xds/methods.ts";
import { isForwardedType, SECRET_TYPE } from "../../xds/type-urls.ts";
import { type RequestedNames, readRequest } from "./core/read-request.ts";
import { applyResponse, keepOnly, type Snapshot, typeOf } from "./core/snapshot.ts";

export interface RecorderOptions {
  readonly kind: XdsProtocol;
  readonly snapshot: Snapshot;
  /** For responses that wait for their acknowledgement. */
  readonly maxPendingBytes: number;
  /** The snapshot changed. */
  onCommit(): void;
  /** More was pending than allowed; nothing is recorded any more. */
  onOverflow(): void;
}

interface TypeState {
  /** Undefined: wildcard. */
  names: ReadonlySet<string> | undefined;
  /** The next response replaces everything that was stored of the type. */
  replaceNext: boolean;
  readonly pending: { readonly nonce: string; readonly pieces: readonly Buffer[] }[];
  /** An answer to a response that is not here yet: a quick client answers before the last piece is noted. */
  early?: Pick<RequestedNames, "nonce" | "isNack"> | undefined;
}

/** Follows one stream of the node and records what the client has ACKed. Never a secret. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #types = new Map<string, TypeState>();
  #pendingBytes = 0;
  #stopped = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  wants(typeUrl: string): boolean {
    return !this.#stopped && typeUrl !== SECRET_TYPE && isForwardedType(typeUrl) && this.#types.has(typeUrl);
  }

  /** A forwarded response; it counts once it is acknowledged. */
  onResponse(typeUrl: string, nonce: string, pieces: readonly Buffer[]): void {
    this.#pendingBytes += sizeOf(pieces);
    if (this.#pendingBytes > this.#options.maxPendingBytes) {
      this.#overflow();
      return;
    }
    const state = this.#types.get(typeUrl);
    state?.pending.push({ nonce, pieces });
    if (state?.early?.nonce !== nonce) return;
    if (this.#settle(typeUrl, state, state.early)) this.#options.onCommit();
  }

  /** A resource of a type that the agent consumes itself, accepted by its handler. */
  onInternal(typeUrl: string, version: string, any: Buffer): void {
    if (this.#stopped) return;
    const stored = typeOf(this.#options.snapshot, typeUrl);
    if (stored.resources.get("")?.any.equals(any)) return;
    stored.version = version;
    stored.resources.set("", { version, any: Buffer.from(any) });
    this.#options.onCommit();
  }

  onRequest(typeUrl: string, message: Buffer): void {
    if (this.#stopped || typeUrl === SECRET_TYPE) return;
    const request = readRequest(this.#options.kind, typeUrl, message);
    const before = this.#types.get(typeUrl);
    const state = before ?? { names: undefined, replaceNext: false, pending: [] };
    this.#types.set(typeUrl, state);
    const settled = this.#settle(typeUrl, state, request);
    const pruned = this.#subscribe(typeUrl, state, request, before === undefined);
    if (settled || pruned) this.#options.onCommit();
  }

  /** Responses come in order and so do their answers: what is older than the answered one was never acknowledged. */
  #settle(typeUrl: string, state: TypeState, { nonce, isNack }: Pick<RequestedNames, "nonce" | "isNack">): boolean {
    if (nonce === "") return false;
    const index = state.pending.findIndex((pending) => pending.nonce === nonce);
    state.early = index === -1 ? { nonce, isNack } : undefined;
    if (index === -1) return false;
    const answered = state.pending.splice(0, index + 1);
    for (const { pieces } of answered) this.#pendingBytes -= sizeOf(pieces);
    const accepted = isNack ? undefined : answered.at(-1);
    if (accepted === undefined) return false;
    const { kind, snapshot } = this.#options;
    const replaces = state.replaceNext || (kind === "sotw" && state.names === undefined);
    state.replaceNext = false;
    applyResponse(snapshot, { kind, typeUrl, message: Buffer.concat(accepted.pieces), replaces });
    return true;
  }

  #subscribe(typeUrl: string, state: TypeState, request: RequestedNames, isFirst: boolean): boolean {
    const { snapshot, kind } = this.#options;
    if (kind === "sotw") {
      state.names = request.names;
      // An empty list of a type that needs names unsubscribes for now; what was accepted stays recorded.
      if (state.names === undefined || state.names.size === 0) return false;
      return prune(snapshot, typeUrl, state.names);
    }
    if (isFirst) {
      state.names = request.names;
      if (state.names === undefined && request.initial.size === 0) {
        state.replaceNext = true;
        return false;
      }
      return prune(snapshot, typeUrl, new Set([...(state.names ?? []), ...request.initial]));
    }
    const stored = snapshot.get(typeUrl);
    return [...request.unsubscribed].filter((name) => stored?.resources.delete(name)).length > 0;
  }

  #overflow(): void {
    this.#stopped = true;
    this.#types.clear();
    this.#options.onOverflow();
  }
}

function prune(snapshot: Snapshot, typeUrl: string, names: ReadonlySet<string>): boolean {
  const before = snapshot.get(typeUrl)?.resources.size ?? 0;
  keepOnly(snapshot, typeUrl, names);
  return (snapshot.get(typeUrl)?.resources.size ?? 0) !== before;
}

function sizeOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}
