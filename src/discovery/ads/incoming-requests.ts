/** One request of those on their way. */
export interface Receipt {
  /** Undefined: there is room. */
  readonly room: Promise<void> | undefined;
  release(): void;
}

/** Bytes of requests that are being received or read. */
export interface Incoming {
  take(bytes: number): Receipt;
}

/** The next one waits until those before it have left room; a request that is larger than everything has to be the only one. */
export function createIncoming(maxBytes: number): Incoming {
  let taken = 0;
  const waiting: { readonly bytes: number; readonly enter: () => void }[] = [];
  const fits = (bytes: number) => maxBytes <= 0 || taken === 0 || taken + bytes <= maxBytes;
  const admit = () => {
    for (let next = waiting[0]; next !== undefined && fits(next.bytes); next = waiting[0]) {
      waiting.shift();
      taken += next.bytes;
      next.enter();
    }
  };
  const release = (bytes: number) => {
    taken -= bytes;
    admit();
  };
  return {
    take(bytes) {
      if (waiting.length === 0 && fits(bytes)) {
        taken += bytes;
        return { room: undefined, release: () => release(bytes) };
      }
      let enter: () => void = () => undefined;
      const room = new Promise<void>((resolve) => {
        enter = resolve;
      });
      const entry = { bytes, enter };
      waiting.push(entry);
      return {
        room,
        release() {
          const index = waiting.indexOf(entry);
          if (index < 0) return release(bytes);
          waiting.splice(index, 1);
          enter();
          admit();
        },
      };
    },
  };
}
