import { createSocket, type Socket } from "node:dgram";
import { errorMessage } from "../base/coded-error.ts";

/** Undefined where several sockets can have one UDP port, else why not. Found out by trying: old runtimes ignore the option silently. */
export async function whyNoSharedPorts(): Promise<string | undefined> {
  const sockets: Socket[] = [];
  try {
    const first = await bindShared(sockets, 0);
    await bindShared(sockets, first.address().port);
    return undefined;
  } catch (failure) {
    return errorMessage(failure);
  } finally {
    await Promise.all(sockets.map((socket) => new Promise<void>((closed) => void socket.close(closed))));
  }
}

async function bindShared(sockets: Socket[], port: number): Promise<Socket> {
  const options = { type: "udp4" as const, reusePort: true };
  const socket = createSocket(options);
  sockets.push(socket);
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.bind({ port, address: "127.0.0.1", exclusive: true }, resolve);
  });
  return socket;
}
