import { type Encoding, type FrameSink, type FrameStream, GrpcError, inflateFrames } from "../grpc/index.ts";
import type { XdsProtocol } from "../xds/methods.ts";
import { BETWEEN, type RelayState, type ResponseAction, responseDecided, responseStarted } from "./core/relay-state.ts";
import { ResponseScanner } from "./core/response-scanner.ts";
import { MAX_RESPONSE_BYTES } from "./open-upstream.ts";

export interface ResponseRelayOptions {
  readonly kind: XdsProtocol;
  readonly downstream: Pick<FrameStream, "writeFrameStart" | "writeFrameBytes">;
  /** What the control plane compresses with; a client never sees it. */
  readonly encoding?: () => Encoding | undefined;
  /** Asked once per response, as soon as its type is known; "" when it has none. */
  decide(typeUrl: string): ResponseAction;
  /** Whether the type of the first resource is the response's own, which is forwarded. Others wait for the response's type. */
  isForwardedEarly?(typeUrl: string): boolean;
  /** A whole response to hold or to convert, in arrival order. Its promise holds the stream back. */
  onCollected(action: "hold" | "convert", typeUrl: string, message: Buffer): void | Promise<void>;
  /** Every response, also one that was dropped. */
  onResponse(facts: ResponseScanner): void;
  /** Whether forwarded responses of this type are recorded. */
  isRecorded?(typeUrl: string): boolean;
  /** A forwarded response, whole, in the pieces it came in. */
  onRecorded?(facts: ResponseScanner, pieces: readonly Buffer[]): void;
  /** Bytes came in, also of a response that is dropped. */
  onBytes?(bytes: number): void;
  /** The client took its time with one response: milliseconds spent waiting for room. */
  onSlowClient?(waitedMs: number): void;
}

/** For a watchdog. */
export interface RelayProgress {
  /** In the middle of a response that nothing on this side holds back: more has to come. */
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

type Undecided = RelayState & { readonly phase: "undecided" };

const SLOW_CLIENT_MS = 10_000;

/**
 * Passes responses on cut-through: once the type is known the pieces go out as they come in, and the room the client's stream has is
 * the only buffer. At most one response is ever held in memory, and only when the agent itself has to read it.
 */
export function createResponseRelay(options: ResponseRelayOptions): ResponseRelay {
  const client = createClientWriter(options.downstream);
  /** Messages of the agent that wait for the end of a forwarded response. */
  const queued: (() => void | Promise<void>)[] = [];
  let state: RelayState = BETWEEN;
  let scanner = new ResponseScanner(options.kind);
  let received = 0;
  let heldBack = 0;

  const decide = (typeUrl: string, { length, pieces }: Undecided): void | Promise<void> => {
    const action = options.decide(typeUrl);
    state = responseDecided(action, pieces, action === "forward" && options.isRecorded?.(typeUrl) === true);
    if (action !== "forward") return undefined;
    client.start(length);
    return waitAll(pieces.map(client.write));
  };
  /** The response says its type last; the type of its first resource stands in for it where that is certain. */
  const knownType = (): string | undefined => {
    const { hasOwnType, typeUrl } = scanner;
    return hasOwnType || (typeUrl !== undefined && options.isForwardedEarly?.(typeUrl)) ? typeUrl : undefined;
  };
  const decideLast = (undecided: Undecided): void | Promise<void> => {
    if (scanner.malformed) throw malformed();
    return decide((scanner.hasOwnType && scanner.typeUrl) || "", undecided);
  };
  const holdBack = (wait: Promise<void>): Promise<void> => {
    heldBack += 1;
    const done = wait.finally(() => {
      heldBack -= 1;
    });
    done.catch(ignore);
    return done;
  };
  /** Reported when the client has taken the response, so that the wait for its last bytes counts. */
  const reportSlow = () => {
    const waitedMs = client.takeWaitedMs();
    if (waitedMs > SLOW_CLIENT_MS) options.onSlowClient?.(waitedMs);
  };

  const plain: FrameSink = {
    start(length) {
      scanner = new ResponseScanner(options.kind);
      state = responseStarted(length);
    },
    bytes(piece) {
      received += piece.length;
      options.onBytes?.(piece.length);
      scanner.feed(piece);
      if (state.phase === "forwarding") {
        state.copy?.push(piece);
        return client.write(piece);
      }
      if (state.phase === "collecting") state.pieces.push(piece);
      if (state.phase !== "undecided") return undefined;
      state.pieces.push(piece);
      const typeUrl = knownType();
      if (typeUrl !== undefined) return decide(typeUrl, state);
      if (scanner.malformed) throw malformed();
      return undefined;
    },
    end() {
      scanner.end();
      const decided = state.phase === "undecided" ? decideLast(state) : undefined;
      const ended = state;
      state = BETWEEN;
      options.onResponse(scanner);
      if (ended.phase === "forwarding" && ended.copy !== undefined) options.onRecorded?.(scanner, ended.copy);
      const held =
        ended.phase === "collecting"
          ? options.onCollected(ended.action, scanner.typeUrl ?? "", joined(ended.pieces))
          : undefined;
      const wait = waitAll([decided, held && holdBack(held), ...queued.splice(0).map((send) => send())]);
      if (wait !== undefined) return wait.then(reportSlow);
      reportSlow();
      return undefined;
    },
  };

  const { encoding = () => "identity" } = options;
  const { sink, held } = inflateFrames(plain, { encoding, maxBytes: MAX_RESPONSE_BYTES });
  return {
    sink,
    send(message) {
      if (state.phase !== "forwarding") return client.writeMessage(message);
      return new Promise<void>((resolve) => {
        queued.push(() => {
          const wait = client.writeMessage(message);
          resolve(wait);
          return wait;
        });
      });
    },
    progress: () => ({
      owed: client.hasRoom() && heldBack === 0 && (held.isReceiving || state.phase !== "between"),
      count: received + held.bytes,
    }),
  };
}

/** Writes to the client and knows how long it was waited for. */
function createClientWriter(downstream: ResponseRelayOptions["downstream"]) {
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
    roomTaken.catch(ignore); // the caller may have failed for another reason meanwhile
    return roomTaken;
  };
  return {
    start: (length: number) => downstream.writeFrameStart(length),
    write,
    writeMessage(message: Buffer) {
      downstream.writeFrameStart(message.length);
      return message.length === 0 ? undefined : write(message);
    },
    hasRoom: () => withoutRoom === 0,
    takeWaitedMs() {
      const taken = waitedMs;
      waitedMs = 0;
      return taken;
    },
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
