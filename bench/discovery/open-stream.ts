import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { GrpcChannel, RawClientCall } from "../../src/grpc/client/client-types.ts";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { assembleMessages } from "../../src/grpc/message-assembler.ts";
import { rawMethod } from "../../src/grpc/method.ts";

/** One ADS stream of bytes, as an agent of ours opens it or as a client that takes no compression does. */
export interface ProxyStream {
  write(message: Buffer): void;
  /** Settles when the stream ends. */
  read(onMessage: (message: Buffer) => void): Promise<void>;
}

export type Accepts = "gzip" | "identity";

/** Envoy's own windows are larger still. */
const WINDOW_BYTES = 64 * 1024 * 1024;

/** A connection of its own whose socket tells what really came over the network. */
export function openChannel(target: string, onSocket: (socket: Socket) => void): GrpcChannel {
  return createGrpcChannel(target, {
    maxReceiveBytes: 2 ** 30,
    windowBytes: WINDOW_BYTES,
    connect: async (signal) => {
      const [host, port] = target.split(":");
      const socket = connect({ host, port: Number(port), noDelay: true });
      await once(socket, "connect", { signal });
      onSocket(socket);
      return socket;
    },
  });
}

export async function openStream(channel: GrpcChannel, path: string, accepts: Accepts): Promise<ProxyStream> {
  // Calls in frames do not invite the server to compress.
  if (accepts === "identity") return plainStream(await channel.raw(path));
  const call = await channel.bidi(rawMethod(path, "bidi"));
  return {
    write: (message) => void call.write(message).catch(() => undefined),
    read: async (onMessage) => {
      for await (const message of call.responses) onMessage(message);
    },
  };
}

function plainStream(call: RawClientCall): ProxyStream {
  return {
    write: (message) => {
      call.writeFrameStart(message.length);
      void call.writeFrameBytes(message)?.catch(() => undefined);
    },
    read: (onMessage) =>
      call.readFrames(
        assembleMessages((message, isCompressed) => {
          if (isCompressed) throw new Error("a compressed message that nobody asked for");
          onMessage(message);
        }),
      ),
  };
}
