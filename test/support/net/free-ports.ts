import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that the kernel hands out for outgoing connections: one of those may take a port between our look and its use. */
const LOWEST = 16_000;
const HIGHEST = 32_000;
/** Workers of the test runner choose from parts of their own: two of them that look at once would find the same port free. */
const PARTS = 8;
const PART_SIZE = (HIGHEST - LOWEST) / PARTS;
const FIRST = LOWEST + (Number(process.env.VITEST_POOL_ID ?? 0) % PARTS) * PART_SIZE;
/** Given to this process and perhaps not listened on yet; the oldest are forgotten. */
const given = new Set<number>();

/** Ports without a TCP listener on any address, none of them given twice to this process within its last thousand. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await choosePort((port) => isTcpFree(port)));
  return ports;
}

/** A port that is free on UDP and TCP of all these addresses; without addresses, on TCP of every one. */
export function freePort(...hosts: readonly string[]): Promise<number> {
  if (hosts.length === 0) return choosePort((port) => isTcpFree(port));
  return choosePort(async (port) => {
    const checks = await Promise.all(hosts.flatMap((host) => [isUdpFree(port, host), isTcpFree(port, host)]));
    return checks.every((free) => free);
  });
}

async function choosePort(isFree: (port: number) => Promise<boolean>): Promise<number> {
  for (;;) {
    const port = FIRST + randomInt(PART_SIZE);
    if (given.has(port)) continue;
    given.add(port);
    for (const oldest of given) if (given.size > PART_SIZE / 2) given.delete(oldest);
    if (await isFree(port)) return port;
  }
}

async function isTcpFree(port: number, host?: string): Promise<boolean> {
  const server = createServer().listen(port, host);
  const free = await settles(once(server, "listening"));
  if (free) await new Promise<void>((closed) => void server.close(() => closed()));
  return free;
}

async function isUdpFree(port: number, host: string): Promise<boolean> {
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4").bind(port, host);
  const free = await settles(once(socket, "listening"));
  await new Promise<void>((closed) => void socket.close(closed));
  return free;
}

function settles(event: Promise<unknown>): Promise<boolean> {
  return event.then(
    () => true,
    () => false,
  );
}
