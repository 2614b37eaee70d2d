import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";

export interface RefusingServer extends AsyncDisposable {
  readonly target: string;
  /** Connections so far. */
  readonly connections: number;
}

const CLIENT_PREFACE_BYTES = 24;
const FRAME_HEADER_BYTES = 9;
const [SETTINGS, HEADERS, GOAWAY] = [4, 1, 7];

/** Its first connection says at the first call that it will look at none; the later ones serve. node:http2 cannot be made to say so. */
export async function startRefusingServer(
  goawayCode: number,
  answer: (stream: ServerHttp2Stream) => void,
): Promise<RefusingServer> {
  const http2 = createHttp2Server();
  http2.on("session", (session) => session.on("error", () => undefined));
  http2.on("stream", (stream) => answer(stream.on("error", () => undefined)));
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    connections += 1;
    if (connections === 1) goAway(socket, goawayCode);
    else serve(http2, socket);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    target: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function serve(http2: Http2Server, socket: Socket): void {
  http2.emit("connection", socket);
}

function goAway(socket: Socket, code: number): void {
  socket.write(frame(SETTINGS, Buffer.alloc(0)));
  let received = Buffer.alloc(0);
  socket.on("data", (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    if (!frameTypes(received.subarray(CLIENT_PREFACE_BYTES)).includes(HEADERS ?? 1)) return;
    socket.removeAllListeners("data").resume();
    const payload = Buffer.alloc(8); // last stream 0, then the code
    payload.writeUInt32BE(code, 4);
    socket.write(frame(GOAWAY, payload));
  });
}

function frame(type: number | undefined, payload: Buffer): Buffer {
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type ?? 0;
  return Buffer.concat([header, payload]);
}

function frameTypes(bytes: Buffer): readonly number[] {
  const types: number[] = [];
  for (let at = 0; at + FRAME_HEADER_BYTES <= bytes.length; at += FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3)) {
    types.push(bytes[at + 3] ?? 0);
  }
  return types;
}
