import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface SocksProxy extends AsyncDisposable {
  readonly port: number;
  /** What clients asked for: `name:port`, `1.2.3.4:port`, or the address in hex for IPv6. */
  readonly asked: readonly string[];
}

export interface SocksProxyOptions {
  /** The port of this machine that every request is led to. */
  readonly to: number;
  /** `user:password` that is demanded (RFC 1929). */
  readonly login?: string;
  /** The reply code of every request; other than 0 refuses. */
  readonly reply?: number;
}

/** A SOCKS 5 proxy (RFC 1928) on a free loopback port; curl finds its way through it as well. */
export async function startSocksProxy(options: SocksProxyOptions): Promise<SocksProxy> {
  const asked: string[] = [];
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket)).on("error", () => socket.destroy());
    serve(socket, options, asked).catch(() => socket.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}

async function serve(socket: Socket, { to, login, reply = 0 }: SocksProxyOptions, asked: string[]): Promise<void> {
  const [, count = 0] = await take(socket, 2);
  const methods = [...(await take(socket, count))];
  const method = login === undefined ? 0 : 2;
  if (!methods.includes(method)) return void socket.end(Buffer.from([5, 0xff]));
  socket.write(Buffer.from([5, method]));
  if (login !== undefined) {
    await take(socket, 1);
    const user = (await sizedText(socket)).toString();
    const isRight = `${user}:${await sizedText(socket)}` === login;
    socket.write(Buffer.from([1, isRight ? 0 : 1]));
    if (!isRight) return void socket.end();
  }
  const [, , , type] = await take(socket, 4);
  const host = await (type === 3 ? sizedText(socket) : take(socket, type === 1 ? 4 : 16));
  const port = (await take(socket, 2)).readUInt16BE();
  asked.push(`${type === 3 ? host : type === 1 ? host.join(".") : host.toString("hex")}:${port}`);
  // The bound address as a name: the longest form that a client must read over.
  const answer = Buffer.from([5, reply, 0, 3, 4, ...Buffer.from("back"), 0, 80]);
  if (reply !== 0) return void socket.end(answer);
  const upstream = connect(to, "127.0.0.1", () => {
    socket.write(answer);
    socket.pipe(upstream).pipe(socket);
  });
  upstream.on("error", () => socket.destroy()).on("close", () => socket.destroy());
  socket.on("close", () => upstream.destroy());
}

async function sizedText(socket: Socket): Promise<Buffer> {
  return take(socket, (await take(socket, 1))[0] ?? 0);
}

async function take(socket: Socket, bytes: number): Promise<Buffer> {
  if (bytes === 0) return Buffer.alloc(0);
  for (;;) {
    const read = socket.read(bytes) as Buffer | null;
    if (read !== null) return read;
    await once(socket, "readable");
  }
}
