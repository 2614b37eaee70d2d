import type { Server } from "node:net";
import { errorCode } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";

/** Of this connection, or of the machine at this moment; the listener goes on. */
const TRANSIENT: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM", "ECONNABORTED", "EPERM"]);

/**
 * Rejects when no further connection can be accepted. A process that has no descriptor left loses the connection that came and serves
 * those it has. Without a listener on the event the first failure would end the process.
 */
export function untilAcceptFails(servers: readonly Server[], log: Pick<Logger, "warn">): Promise<void> {
  return new Promise((_resolve, reject) => {
    for (const server of servers) {
      server.on("error", (failure) => {
        const code = errorCode(failure);
        if (TRANSIENT.has(code)) log.warn("connection could not be accepted", { error: failure.message });
        else reject(failure);
      });
    }
  });
}
