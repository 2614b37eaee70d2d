import { createSocket, type Socket } from "node:dgram";
import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import { MAX_THREADS } from "./options.ts";

/** How many threads will serve. Never an error: one thread always can. `findObstacle` tells why sockets cannot share a port. */
export async function usableThreads(
  requested: number,
  log: Logger,
  findObstacle: () => Promise<string | undefined> = whyNoSharedPorts,
): Promise<number> {
  const threads = Math.min(MAX_THREADS, Math.max(1, Math.trunc(requested) || 1));
  if (threads !== requested) log.warn("DNS threads must be 1 to 64", { requested, used: threads });
  if (threads === 1) return 1;
  const obstacle = await findObstacle();
  if (obstacle === undefined) return threads;
  log.warn("one DNS thread serves: UDP sockets cannot share a port here, which takes Linux and Node 22.12 or later", {
    requested,
    cause: obstacle,
  });
  return 1;
}

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
