/** Which source ports the upstream sockets of the other threads use: a query that comes from one of them has gone in a circle. */
export interface PortOwners {
  claim(port: number): void;
  release(port: number): void;
  isOfOtherThread(port: number): boolean;
}

/** The main thread is the first; workers count from two. */
export const MAIN_THREAD = 1;

/** One byte per port: 0, or the number of the thread whose upstream socket has it. */
export type PortMap = Uint8Array;

export function createPortMap(): PortMap {
  return new Uint8Array(new SharedArrayBuffer(65_536));
}

/** The kernel gives a port to one socket at a time, so threads never write the same byte at once and need no locks. */
export function portOwners(map: PortMap, thread: number): PortOwners {
  return {
    claim(port) {
      map[port] = thread;
    },
    release(port) {
      if (map[port] === thread) map[port] = 0;
    },
    isOfOtherThread(port) {
      const owner = map[port] ?? 0;
      return owner !== 0 && owner !== thread;
    },
  };
}

/** For a thread that died: whoever gets its ports next is no loop. */
export function releaseAll(map: PortMap, thread: number): void {
  for (let port = map.indexOf(thread); port >= 0; port = map.indexOf(thread, port + 1)) map[port] = 0;
}
