import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Below the ports that the kernel hands out for outgoing connections: one of those may take a port between our look and its use. */
const LOWEST = 16_000;
const HIGHEST = 32_000;
const given = new Set<number>();

/** Ports that nobody listens on, none of them given twice to this process. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port = randomInt(LOWEST, HIGHEST);
    if (given.has(port)) continue;
    given.add(port);
    if (await canListen(port)) ports.push(port);
  }
  return ports;
}

/** On every address, as Envoy's wildcard listeners do. */
function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, () => server.close(() => resolve(true)));
  });
}
