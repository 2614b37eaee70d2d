import type { Socket } from "node:net";
import { type Listener, listen } from "./listen.ts";
import type { ReplacePolicy } from "./unix-socket.ts";

/** A unix socket that is bound before its server's code is loaded: clients that come early are not refused, they wait. */
export interface ReservedSocket extends AsyncDisposable {
  /** Once; undefined when it was taken or given up before. From then on the listener's owner closes it. */
  take(onConnection: (socket: Socket) => void): Listener | undefined;
  /** Gives the path free unless it was taken. */
  [Symbol.asyncDispose](): Promise<void>;
}

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
  // Paused: what a client says is left in the kernel for the one who understands it.
  const listener = await listen(options, (socket) => serve(socket), true);
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
