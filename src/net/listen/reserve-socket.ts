import type { Socket } from "node:net";
import { listen, type ReservedSocket } from "./listen.ts";
import type { ReplacePolicy } from "./unix-socket.ts";

export interface ReserveOptions {
  readonly path: string;
  readonly mode?: number;
  readonly replace?: ReplacePolicy;
}

/** Rejects with a ListenError and leaves nothing open. */
export async function reserveSocket(options: ReserveOptions): Promise<ReservedSocket> {
  const waiting: Socket[] = [];
  let serve = (socket: Socket) => void waiting.push(socket);
  let isFree = true;
  // Paused: what a client sends stays in the kernel for the server to come.
  const listener = await listen(options, (socket) => serve(socket), { pauseOnConnect: true });
  return {
    take(onConnection) {
      if (!isFree) return undefined;
      isFree = false;
      serve = (socket) => {
        onConnection(socket);
        socket.resume();
      };
      for (const socket of waiting.splice(0)) serve(socket);
      return listener;
    },
    async [Symbol.asyncDispose]() {
      if (!isFree) return;
      isFree = false;
      for (const socket of waiting) socket.destroy();
      await listener.close();
    },
  };
}
