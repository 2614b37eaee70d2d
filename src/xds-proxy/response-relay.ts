import { type FrameSink, type FrameStream, GrpcError } from "../grpc/index.ts";
import type { ProtocolKind } from "./core/protocol-kind.ts";
import { ResponseScanner } from "./core/response-scanner.ts";

/** What happens to a response of some type. */
export type ResponseAction = "forward" | "hold" | "drop";

export interface ResponseRelayOptions {
  readonly kind: ProtocolKind;
  readonly downstream: Pick<FrameStream, "writeFrameStart" | "writeFrameBytes">;
  /** Asked once per response, as soon as its type is known; "" when it has none. */
  decide(typeUrl: string): ResponseAction;
  /** A whole response that `decide` wanted held, in arrival order. Its promise holds the stream back. */
  onHeld(typeUrl: string, message: Buffer): void | Promise<void>;
  /** Every response, whatever was done with it. */
  onResponse(facts: ResponseScanner, bytes: number, action: ResponseAction): void;
}

export interface ResponseRelay {
  /** To be fed with the frames that come from upstream. */
  readonly sink: FrameSink;
  /** Sends a whole message downstream, between two forwarded ones. */
  send(message: Buffer): void;
}

/**
 * Passes responses on cut-through: once the type is known the pieces go out as they come in, and the room the client's stream has is
 * the only buffer. At most one response is ever held in memory, and only when the agent itself has to read it.
 */
export function createResponseRelay(options: ResponseRelayOptions): ResponseRelay {
  const { downstream } = options;
  const waiting: Buffer[] = [];
  let scanner = new ResponseScanner(options.kind);
  let action: ResponseAction | undefined;
  let pieces: Buffer[] = [];
  let length = 0;
  let frameOpen = false;

  const writeWhole = (message: Buffer) => {
    downstream.writeFrameStart(message.length);
    return message.length === 0 ? undefined : downstream.writeFrameBytes(message);
  };

  const settle = (typeUrl: string): void | Promise<void> => {
    action = options.decide(typeUrl);
    if (action === "drop") pieces = [];
    if (action !== "forward") return undefined;
    downstream.writeFrameStart(length);
    frameOpen = true;
    const early = pieces;
    pieces = [];
    return waitAll(early.map((piece) => downstream.writeFrameBytes(piece)));
  };

  const sink: FrameSink = {
    start(frameLength, compressed) {
      if (compressed) throw new GrpcError("INTERNAL", "grpc: compressed message although none was asked for");
      scanner = new ResponseScanner(options.kind);
      action = undefined;
      pieces = [];
      length = frameLength;
    },
    bytes(piece) {
      scanner.feed(piece);
      if (action === "forward") return downstream.writeFrameBytes(piece);
      if (action === "drop") return undefined;
      pieces.push(piece);
      if (action === undefined && scanner.typeUrl !== undefined) return settle(scanner.typeUrl);
      if (action === undefined && scanner.malformed) throw malformed();
      return undefined;
    },
    end() {
      if (action === undefined && scanner.malformed) throw malformed();
      const settled = action === undefined ? settle(scanner.typeUrl ?? "") : undefined;
      frameOpen = false;
      options.onResponse(scanner, length, action ?? "drop");
      const held = action === "hold" ? options.onHeld(scanner.typeUrl ?? "", joined(pieces)) : undefined;
      pieces = [];
      return waitAll([settled, held, ...waiting.splice(0).map(writeWhole)]);
    },
  };

  return {
    sink,
    send(message) {
      if (frameOpen) waiting.push(message);
      else void writeWhole(message);
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
  return Promise.all(pending).then(() => undefined);
}
