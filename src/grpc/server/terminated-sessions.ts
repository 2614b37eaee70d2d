import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { startAlignedInterval } from "../../base/aligned-interval.ts";

/**
 * node's HTTP/2 library answers most malformed input (a bad HPACK block, a frame of a wrong size) with a GOAWAY of its own and stops
 * reading for good, without any event: neither the session nor the socket would be closed, even after the client has left.
 * Between two checks a terminated session is still open, and it takes two of them to be sure.
 */
const CHECK_MS = 1000;

/** What is looked at of a socket's handle; node gives no public access to it. */
interface ReadHandle {
  readStart(): number;
  readStop(): number;
  readonly writeQueueSize: number;
}

interface Watched {
  readonly socket: Socket;
  /** Of the last check; undefined: not checked yet. */
  bytesRead: number | undefined;
  /** Reading was found stopped with nothing left to write. */
  isSuspect: boolean;
  /** Bytes that wait for the client, and since when it has taken none of them. */
  stuck: { readonly bytes: number; readonly since: number } | undefined;
}

export interface TerminatedSessions {
  /** Until the session closes. */
  watch(session: ServerHttp2Session, socket: Socket): void;
}

/**
 * Destroys sessions that the HTTP/2 library has terminated, and those that neither read nor write for `stuckMs`: their client takes nothing,
 * and whether they are terminated cannot be seen. Its timer runs while there are sessions and does not keep the process alive.
 */
export function destroyTerminatedSessions(
  stuckMs: number,
  onTerminated: (session: ServerHttp2Session) => void,
): TerminatedSessions {
  const watched = new Map<ServerHttp2Session, Watched>();
  let timer: ReturnType<typeof startAlignedInterval> | undefined;
  const check = () => {
    for (const [session, each] of watched) {
      if (!isTerminated(each, stuckMs)) continue;
      onTerminated(session);
      session.destroy();
      each.socket.destroy();
    }
  };
  return {
    watch(session, socket) {
      watched.set(session, { socket, bytesRead: undefined, isSuspect: false, stuck: undefined });
      timer ??= startAlignedInterval(check, CHECK_MS);
      session.once("close", () => {
        watched.delete(session);
        if (watched.size > 0) return;
        timer?.stop();
        timer = undefined;
      });
    },
  };
}

function isTerminated(watched: Watched, stuckMs: number): boolean {
  const { bytesRead } = watched.socket;
  // Only bytes from the client end a session this way: who was reading and has received nothing since is fine.
  if (bytesRead === watched.bytesRead && !watched.isSuspect && watched.stuck === undefined) return false;
  const isQuiet = bytesRead === watched.bytesRead;
  const wasSuspect = watched.isSuspect && isQuiet;
  watched.bytesRead = bytesRead;
  const waiting = bytesWaiting(watched.socket);
  watched.isSuspect = waiting === 0;
  if (waiting === undefined || waiting === 0) watched.stuck = undefined;
  // Reading also stops while a write waits for the client; that is flow control, and ends by itself.
  else if (!isQuiet || waiting !== watched.stuck?.bytes) watched.stuck = { bytes: waiting, since: performance.now() };
  const isStuck = watched.stuck !== undefined && performance.now() - watched.stuck.since >= stuckMs;
  return (watched.isSuspect && wasSuspect) || isStuck;
}

/** Undefined for a socket that is being read; otherwise the bytes that the client has still to take. */
function bytesWaiting(socket: Socket): number | undefined {
  const handle: unknown = Reflect.get(socket, "_handle");
  if (!isReadHandle(handle)) return undefined;
  // libuv says EALREADY for a handle that is reading, and then nothing changes.
  if (handle.readStart() !== 0) return undefined;
  handle.readStop();
  return handle.writeQueueSize;
}

function isReadHandle(handle: unknown): handle is ReadHandle {
  if (typeof handle !== "object" || handle === null) return false;
  return ["readStart", "readStop"].every((name) => typeof Reflect.get(handle, name) === "function");
}
