import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** One address in front of several servers of this machine, as that of a Kubernetes Service. */
export interface BalancingProxy extends AsyncDisposable {
  readonly port: number;
}

/** Connections go to the servers in turn; one that does not listen is passed over. */
export async function startBalancingProxy(upstreams: readonly number[]): Promise<BalancingProxy> {
  const sockets = new Set<Socket>();
  let turn = 0;
  const join = (client: Socket, attempt: number) => {
    const port = upstreams[(turn + attempt) % upstreams.length] ?? 0;
    const upstream = connect(port, "127.0.0.1");
    sockets.add(upstream);
    let isConnected = false;
    upstream.on("connect", () => {
      isConnected = true;
      turn += attempt + 1;
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on("error", () => undefined);
    upstream.on("close", () => {
      sockets.delete(upstream);
      if (isConnected || attempt + 1 >= upstreams.length || client.destroyed) client.destroy();
      else join(client, attempt + 1);
    });
    client.once("close", () => upstream.destroy());
  };
  const server = createServer((client) => {
    sockets.add(client);
    client.on("error", () => undefined).on("close", () => sockets.delete(client));
    join(client, 0);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
