import type { Logger } from "../base/logger.ts";
import { MAX_THREADS } from "./options.ts";
import { whyNoSharedPorts } from "./port-sharing.ts";

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
