import { type Encoding, type FrameSink, type FrameStream, GrpcError, inflateFrames } from "../grpc/index.ts";
import type { XdsProtocol } from "../xds/methods.ts";
import { ResponseScanner } from "./core/response-scanner.ts";
import { MAX_RESPONSE_BYTES } from "./open-upstream.ts";

/** What happens to a response of some type. */
export type ResponseAction = "forward" | "hold" | "drop";

export interface ResponseRelayOptions {
  readonly kind: XdsProtocol;
  readonly downstream: Pick<FrameStream, "writeFrameStart" | "writeFrameBytes">;
  /** What the control plane compresses with; a client never sees it. */
  readonly encoding?: () => Encoding | undefined;
  /** Asked once per response, as soon as its type is known; "" when it has none. */
  decide(typeUrl: string): ResponseAction;
  /** Whether a response whose first resource has this type has that type itself, and is forwarded. Others wait for their own word. */
  passesEarly?(typeUrl: string): boolean;
  /** A whole response that `decide` wanted held, in arrival order. Its promise holds the stream back. */
  onHeld(typeUrl: string, message: Buffer): void | Promise<void>;
  /** Every response, whatever was done with it. */
  onResponse(facts: ResponseScanner, bytes: number, action: ResponseAction): void;
  /** Whether `onCopied` wants the responses of this type that are forwarded. */
  wantsCopy?(typeUrl: string): boolean;
  /** A forwarded response, whole, in the pieces it came in. */
  onCopied?(facts: ResponseScanner, pieces: readonly Buffer[]): void;
  /** Bytes came in, whatever becomes of them. */
  onBytes?(bytes: number): void;
  /** The client took its time with one response: milliseconds spent waiting for room. */
  onSlowClient?(waitedMs: number): void;
}

/** What a watchdog looks at. */
export interface RelayProgress {
  /** In the middle of a response, and nobody on this side holds it back: more has to come. */
  readonly owed: boolean;
  /** Bytes so far. */
  readonly count: number;
}

export interface ResponseRelay {
  /** To be fed with the frames that come from upstream. */
  readonly sink: FrameSink;
  /** Sends a whole message downstream, between two forwarded ones. A promise settles when the client has room for more. */
  send(message: Buffer): Promise<void> | undefined;
  progress(): RelayProgress;
}

const SLOW_CLIENT_MS = 10_000;

/**
 * Passes responses on cut-through: once the type is known the pieces go out as they come in, and the room the client's stream has is
 * the only buffer. At most one response is ever held in memory, and only when the agent itself has to read it.
 */
export function createResponseRelay(options: ResponseRelayOptions): ResponseRelay {
  const { downstream } = options;
  const waiting: (() => void | Promise<void>)[] = [];
  let scanner = new ResponseScanner(options.kind);
  let action: ResponseAction | undefined;
  let pieces: Buffer[] = [];
  let length = 0;
  let frameOpen = false;
  let copy: Buffer[] | undefined;
  let received = 0;
  let inFrame = false;
  let heldBack = 0;
  let room: Promise<void> | undefined;
  let roomTaken: Promise<void> | undefined;
  let withoutRoom = 0;
  let since = 0;
  let waitedMs = 0;

  const gotRoom = () => {
    withoutRoom -= 1;
    if (withoutRoom === 0) waitedMs += performance.now() - since;
  };
  const lostRoom = (failure: unknown) => {
    gotRoom();
    throw failure;
  };
  /** What is written while the client has no room waits together: a promise for each piece, and its functions, cost more than the piece. */
  const write = (bytes: Buffer): undefined | Promise<void> => {
    const wait = downstream.writeFrameBytes(bytes);
    if (wait === undefined || wait === room) return wait && roomTaken;
    if (withoutRoom === 0) since = performance.now();
    withoutRoom += 1;
    room = wait;
    roomTaken = wait.then(gotRoom, lostRoom);
    roomTaken.catch(ignore); // who waits for it may have failed for another reason meanwhile
    return roomTaken;
  };

  const holdBack = (wait: Promise<void>): Promise<void> => {
    heldBack += 1;
    const done = wait.finally(() => {
      heldBack -= 1;
    });
    done.catch(ignore);
    return done;
  };

  const writeWhole = (message: Buffer) => {
    downstream.writeFrameStart(message.length);
    return message.length === 0 ? undefined : write(message);
  };

  const settle = (typeUrl: string): void | Promise<void> => {
    action = options.decide(typeUrl);
    if (action === "drop") pieces = [];
    if (action !== "forward") return undefined;
    downstream.writeFrameStart(length);
    frameOpen = true;
    const early = pieces;
    pieces = [];
    copy = options.wantsCopy?.(typeUrl) ? [...early] : undefined;
    return waitAll(early.map(write));
  };

  /** What the response says of itself comes last; the type of its first resource stands in for it where that is safe. */
  const knownType = (): string | undefined => {
    const { hasOwnType, typeUrl } = scanner;
    return hasOwnType || (typeUrl !== undefined && options.passesEarly?.(typeUrl)) ? typeUrl : undefined;
  };

  /** Told when the client has taken the response, so that the wait for its last bytes counts. */
  const tellSlow = () => {
    if (waitedMs > SLOW_CLIENT_MS) options.onSlowClient?.(waitedMs);
    waitedMs = 0;
  };

  const plain: FrameSink = {
    start(frameLength) {
      scanner = new ResponseScanner(options.kind);
      action = undefined;
      pieces = [];
      copy = undefined;
      inFrame = true;
      length = frameLength;
    },
    bytes(piece) {
      received += piece.length;
      options.onBytes?.(piece.length);
      scanner.feed(piece);
      if (action === "forward") {
        copy?.push(piece);
        return write(piece);
      }
      if (action === "drop") return undefined;
      pieces.push(piece);
      const typeUrl = action === undefined ? knownType() : undefined;
      if (typeUrl !== undefined) return settle(typeUrl);
      if (action === undefined && scanner.malformed) throw malformed();
      return undefined;
    },
    end() {
      scanner.end();
      if (action === undefined && scanner.malformed) throw malformed();
      const settled = action === undefined ? settle((scanner.hasOwnType && scanner.typeUrl) || "") : undefined;
      frameOpen = false;
      inFrame = false;
      options.onResponse(scanner, length, action ?? "drop");
      if (copy !== undefined) options.onCopied?.(scanner, copy);
      copy = undefined;
      const held = action === "hold" ? options.onHeld(scanner.typeUrl ?? "", joined(pieces)) : undefined;
      pieces = [];
      const wait = waitAll([settled, held && holdBack(held), ...waiting.splice(0).map((send) => send())]);
      if (wait !== undefined) return wait.then(tellSlow);
      if (waitedMs > 0) tellSlow();
      return undefined;
    },
  };

  const { encoding = () => "identity" } = options;
  const { sink, held } = inflateFrames(plain, { encoding, maxBytes: MAX_RESPONSE_BYTES });
  return {
    sink,
    send(message) {
      if (!frameOpen) return writeWhole(message);
      return new Promise<void>((resolve) => {
        waiting.push(() => {
          const wait = writeWhole(message);
          resolve(wait);
          return wait;
        });
      });
    },
    progress: () => ({
      owed: withoutRoom + heldBack === 0 && (held.isReceiving || inFrame),
      count: received + held.bytes,
    }),
  };
}

function joined(pieces: readonly Buffer[]): Buffer {
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
}

function malformed(): GrpcError {
  return new GrpcError("INTERNAL", "grpc: failed to unmarshal the received message: no valid protobuf");
}

function waitAll(waits: readonly (void | Promise<void> | undefined)[]): void | Promise<void> {
  const pending = waits.filter((wait) => wait !== undefined);
  if (pending.length === 0) return undefined;
  return Promise.all(pending).then(ignore);
}

function ignore(): void {}
