import { GrpcError } from "../grpc/index.ts";

/** Something the peer owes us: while it does, its count has to move. */
export interface OwedProgress {
  readonly what: string;
  read(): { readonly owed: boolean; readonly count: number };
}

export interface ProgressWatch extends Disposable {
  /** Rejects with UNAVAILABLE when something was owed for `limitMs` without a move; never resolves. */
  readonly stuck: Promise<never>;
}

const LOOKS = 6;

/**
 * A peer whose connection answers pings can still hang. It is not asked to say anything, a quiet control plane is a healthy one; but in
 * the middle of a response, or with requests of ours unread, it has to go on. Looks from time to time and costs the traffic nothing.
 */
export function watchProgress(limitMs: number, watched: readonly OwedProgress[]): ProgressWatch {
  const seen = watched.map(() => ({ count: 0, looks: 0 }));
  let fail: (reason: GrpcError) => void = () => undefined;
  const stuck = new Promise<never>((_resolve, reject) => {
    fail = reject;
  });
  stuck.catch(() => undefined);
  const look = () => {
    for (const [index, { what, read }] of watched.entries()) {
      const { owed, count } = read();
      const last = seen[index];
      const looks = owed && last !== undefined && last.count === count ? last.looks + 1 : 0;
      seen[index] = { count, looks };
      if (looks >= LOOKS) fail(new GrpcError("UNAVAILABLE", `no progress within ${limitMs / 1000} s: ${what}`));
    }
  };
  const timer = setInterval(look, limitMs / LOOKS);
  timer.unref();
  return { stuck, [Symbol.dispose]: () => clearInterval(timer) };
}
