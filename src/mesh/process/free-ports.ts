import { randomInt } from "node:crypto";
import { createServer, type Server } from "node:net";
import { errorCode } from "../../base/coded-error.ts";
import type { MeshFile } from "../core/mesh-file.ts";
import { SLOTS } from "../core/plan-addresses.ts";
import { MeshError } from "../mesh-error.ts";

/** Below the ports that the kernel hands out for outgoing connections: one of those could take a port between our look and its use. */
const LOWEST = 16_000;
const HIGHEST = 32_000;
const MAX_TRIES = 5000;

/**
 * Ports without a listener on any address. Meshes that start at the same moment look in different ranges first: a port is only
 * taken for good when its agent listens on it.
 */
export async function findFreePorts(
  count: number,
  slot: number,
  /** Promised to somebody who may not listen at the moment. */
  promised: ReadonlySet<number> = new Set(),
): Promise<readonly number[]> {
  const found = new Set<number>();
  const isFree = async (port: number) => !promised.has(port) && (await listenObstacle(port)) === undefined;
  const range = Math.floor((HIGHEST - LOWEST) / SLOTS);
  for (let port = LOWEST + slot * range; found.size < count && port < LOWEST + (slot + 1) * range; port += 1) {
    if (await isFree(port)) found.add(port);
  }
  for (let tries = 0; found.size < count; tries += 1) {
    if (tries > MAX_TRIES)
      throw new MeshError("address-taken", `cannot find ${count} free ports of ${LOWEST} to ${HIGHEST}`);
    const port = randomInt(LOWEST, HIGHEST);
    if (!found.has(port) && (await isFree(port))) found.add(port);
  }
  return [...found];
}

/** Ports of a file that no service can have, without namespaces, as somebody listens on all addresses or they need root. */
export async function takenPorts({ services }: Pick<MeshFile, "services">): Promise<readonly string[]> {
  const found = await Promise.all(
    services
      .filter(({ versions }) => versions.length > 0)
      .flatMap(({ name, ports }) => ports.map(({ port }) => ({ name, port })))
      .map(async ({ name, port }) => {
        const obstacle = await listenObstacle(port, UNUSED_ADDRESS);
        if (obstacle === "EADDRINUSE")
          return [`service ${name}: port ${port} is taken by another program on all addresses`];
        return obstacle === "EACCES" ? [`service ${name}: port ${port} needs root; choose one above 1023`] : [];
      }),
  );
  return found.flat();
}

/** Of the loopback range, and of no mesh. */
const UNUSED_ADDRESS = "127.63.255.253";

/** Why the port cannot be bound now, as a code of the system; undefined when it works. */
export async function listenObstacle(port: number, host?: string): Promise<string | undefined> {
  try {
    const server = await listen(port, host);
    await closeListener(server);
    return undefined;
  } catch (thrown) {
    return errorCode(thrown) ?? "EIO";
  }
}

/** Later failures, such as no descriptor left for a connection, cost that connection and nothing else. */
export function listen(port: number, host?: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () => resolve(server));
  });
}

/** A listener that only reserved its port: somebody who has connected all the same does not keep it open. */
export function closeListener(server: Server): Promise<void> {
  server.on("connection", (socket) => socket.destroy());
  return new Promise((closed) => server.close(() => closed()));
}
