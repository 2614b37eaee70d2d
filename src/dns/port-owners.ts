/** What threads share about its upstream queries, so that each notices one that has come back in a circle. */
export interface PortOwners {
  /** An upstream socket of this thread has the port, until it is released. */
  claim(port: number): void;
  release(port: number): void;
  /** A query with this transaction id waits for its reply, until it is settled. */
  sent(id: number): void;
  settled(id: number): void;
  /** Both have to fit: a client on another machine may well have the same port. */
  isOfOtherThread(port: number, id: number): boolean;
}

/** Memory shared by all threads. Each byte has one writer at a time, so no locks are needed. */
export interface PortMap {
  /** By port: 0, or the number of the thread whose upstream socket has it; the kernel gives a port to one socket at a time. */
  readonly owners: Uint8Array;
  /** By thread and transaction id: how many queries wait. */
  readonly waiting: Uint8Array;
}

/** The main thread is the first; workers count from two. */
export const MAIN_THREAD = 1;

const NUMBERS = 65_536;

export function createPortMap(threads: number): PortMap {
  return {
    owners: new Uint8Array(new SharedArrayBuffer(NUMBERS)),
    waiting: new Uint8Array(new SharedArrayBuffer(NUMBERS * threads)),
  };
}

export function portOwners({ owners, waiting }: PortMap, thread: number): PortOwners {
  const own = waitingOf(waiting, thread);
  return {
    claim(port) {
      owners[port] = thread;
    },
    release(port) {
      if (owners[port] === thread) owners[port] = 0;
    },
    sent(id) {
      own[id] = (own[id] ?? 0) + 1;
    },
    settled(id) {
      own[id] = (own[id] ?? 0) - 1;
    },
    isOfOtherThread(port, id) {
      const owner = owners[port] ?? 0;
      return owner !== 0 && owner !== thread && (waitingOf(waiting, owner)[id] ?? 0) > 0;
    },
  };
}

/** For a thread that died: whoever gets its ports next is not a loop. */
export function releaseAll({ owners, waiting }: PortMap, thread: number): void {
  for (let port = owners.indexOf(thread); port >= 0; port = owners.indexOf(thread, port + 1)) owners[port] = 0;
  waitingOf(waiting, thread).fill(0);
}

function waitingOf(waiting: Uint8Array, thread: number): Uint8Array {
  return waiting.subarray((thread - 1) * NUMBERS, thread * NUMBERS);
}
