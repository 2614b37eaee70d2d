import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { createServer } from "node:tls";

export interface DnsTlsFront extends AsyncDisposable {
  readonly port: number;
  /** Connections so far. */
  readonly connections: number;
  /** Closes those that are open. */
  cut(): void;
}

/** DNS over TLS (RFC 7858) in front of a nameserver's TCP port: frames are the same, TLS is around them. `dig +tls` asks it too. */
export async function startDnsTlsFront(
  to: { readonly host: string; readonly port: number },
  tls: { readonly cert: string; readonly key: string },
  port = 0,
): Promise<DnsTlsFront> {
  const open = new Set<Socket>();
  let connections = 0;
  const server = createServer(tls, (client) => {
    connections += 1;
    const upstream = connect(to.port, to.host);
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise((closed) => server.close(closed));
    },
  };
}
