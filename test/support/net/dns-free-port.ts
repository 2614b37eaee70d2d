import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A port that is free on UDP and TCP of all these addresses. It lies below the range from which the kernel serves clients, so that no
 * connection of some other test takes it between now and its use.
 */
export async function freePort(...hosts: readonly string[]): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const checks = await Promise.all(hosts.flatMap((host) => [isUdpFree(host, port), isTcpFree(host, port)]));
    if (checks.every((free) => free)) return port;
  }
}

async function isUdpFree(host: string, port: number): Promise<boolean> {
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4").bind(port, host);
  const free = await once(socket, "listening").then(
    () => true,
    () => false,
  );
  await new Promise<void>((closed) => void socket.close(closed));
  return free;
}

async function isTcpFree(host: string, port: number): Promise<boolean> {
  const server = createServer().listen(port, host);
  const free = await once(server, "listening").then(
    () => true,
    () => false,
  );
  if (free) await new Promise<void>((closed) => void server.close(() => closed()));
  return free;
}
