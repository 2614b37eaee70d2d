import { createGrpcChannel, type GrpcChannel, type GrpcChannelOptions } from "../../grpc/index.ts";

/** A channel that stays open until whoever uses it has let go. */
export interface Connection {
  readonly channel: GrpcChannel;
  /** After this the next user gets a new one; calls in progress are not disturbed. */
  retire(): void;
  release(): void;
}

export interface Connections {
  /** The open connection if it was made under the same fingerprint, else a new one. */
  acquire(fingerprint: string): Connection;
  /** Cancels every call. */
  close(): Promise<void>;
}

interface Entry {
  readonly channel: GrpcChannel;
  readonly fingerprint: string;
  users: number;
}

/** One connection at a time to one CA: used again while what it was made with is unchanged. */
export function openConnections(target: string, options: GrpcChannelOptions): Connections {
  let current: Entry | undefined;
  const open = new Set<Entry>();
  const closeUnused = (entry: Entry) => {
    if (entry.users > 0 || entry === current) return;
    open.delete(entry);
    void entry.channel.stop();
  };
  const retire = (entry: Entry) => {
    if (current === entry) current = undefined;
    closeUnused(entry);
  };
  return {
    acquire: (fingerprint) => {
      if (current !== undefined && current.fingerprint !== fingerprint) retire(current);
      current ??= { channel: createGrpcChannel(target, options), fingerprint, users: 0 };
      const entry = current;
      open.add(entry);
      entry.users += 1;
      return {
        channel: entry.channel,
        retire: () => retire(entry),
        release: () => {
          entry.users -= 1;
          closeUnused(entry);
        },
      };
    },
    close: async () => {
      current = undefined;
      await Promise.all([...open].map((entry) => entry.channel.stop()));
      open.clear();
    },
  };
}
