import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface FreezableProxy extends AsyncDisposable {
  readonly port: number;
  readonly bytesToClient: number;
  /** From now on no byte passes in either direction, and nothing is closed: a cable that was cut. */
  freeze(): void;
  /** From now on bytes wait, and connections are accepted: a process that was stopped. */
  hang(): void;
  /** It goes on with what waited. */
  wake(): void;
  /** Closes every connection abruptly. */
  cut(): void;
}

/** A TCP proxy in front of a local port. At a `path` everybody may connect to it, from every network namespace, and it has no port. */
export async function startFreezableProxy(upstreamPort: number, path?: string): Promise<FreezableProxy> {
  const sockets = new Set<Socket>();
  let bytesToClient = 0;
  let isFrozen = false;
  let isHanging = false;
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  };
  const pass = (from: Socket, to: Socket, count: (bytes: number) => void) => {
    from.on("data", (chunk: Buffer) => {
      if (isFrozen) return;
      count(chunk.length);
      to.write(chunk);
    });
    from.on("close", () => void (isFrozen || to.destroy()));
  };
  const server = createServer((client) => {
    const upstream = connect(upstreamPort, "127.0.0.1");
    track(client);
    track(upstream);
    if (isHanging) for (const socket of [client, upstream]) socket.pause();
    pass(client, upstream, () => undefined);
    pass(upstream, client, (bytes) => {
      bytesToClient += bytes;
    });
  });
  const at = path === undefined ? { port: 0, host: "127.0.0.1" } : { path, readableAll: true, writableAll: true };
  await new Promise<void>((resolve) => void server.listen(at, resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: path === undefined ? (server.address() as AddressInfo).port : 0,
    get bytesToClient() {
      return bytesToClient;
    },
    freeze() {
      isFrozen = true;
    },
    hang() {
      isHanging = true;
      for (const socket of sockets) socket.pause();
    },
    wake() {
      isHanging = false;
      for (const socket of sockets) socket.resume();
    },
    cut,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}
