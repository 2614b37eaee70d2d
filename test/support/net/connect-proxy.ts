import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";

export interface ConnectProxy extends AsyncDisposable {
  readonly port: number;
  readonly asked: readonly { readonly target: string; readonly login: string }[];
}

/** A CONNECT proxy that goes to one place ("host:port") whatever it is asked for; with another status it refuses. With a key it is inside TLS. */
export async function startConnectProxy(
  to: string,
  status = 200,
  tls?: { readonly cert: string; readonly key: string },
): Promise<ConnectProxy> {
  const asked: { target: string; login: string }[] = [];
  const server: Server = tls === undefined ? createServer() : createTlsServer(tls);
  server.on("connect", (request, socket) => {
    asked.push({ target: request.url ?? "", login: request.headers["proxy-authorization"] ?? "" });
    if (status !== 200) return void socket.end(`HTTP/1.1 ${status} Forbidden\r\n\r\n`);
    const [host = "", port] = to.split(":");
    const upstream = connect(Number(port), host, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on("error", () => socket.destroy()).on("close", () => socket.destroy());
    socket.on("error", () => upstream.destroy()).on("close", () => upstream.destroy());
    return undefined;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { asked, port, [Symbol.asyncDispose]: async () => void server.close() };
}
