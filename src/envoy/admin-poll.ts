import { unbracketHost } from "../net/host-port.ts";
import { createKeptConnection } from "../net/http1/kept-connection.ts";
import { Http1Error } from "../net/http1/request-http1.ts";
import type { AdminClient } from "./admin-client.ts";
import type { AdminAnswer } from "./admin-request.ts";

/** For whoever asks Envoy the same every few seconds. The owner closes it. */
export interface AdminPoll {
  fetch(path: string, limits: { readonly timeoutMs: number; readonly maxBytes: number }): Promise<AdminAnswer>;
  close(): void;
}

/** Longer than the time between two questions, so that nothing stays open when the last one was asked. */
const IDLE_MS = 20_000;

/** On a connection that stays open; what goes wrong with it is asked again on one of its own, whose failures have their words. */
export function createAdminPoll(admin: Pick<AdminClient, "authority" | "fetch">): AdminPoll {
  const { hostname, port } = new URL(`http://${admin.authority}`);
  const address = { host: unbracketHost(hostname), port: Number(port) };
  const kept = createKeptConnection({ address: () => address, idleMs: IDLE_MS });
  return {
    async fetch(path, limits) {
      if (kept.isBusy) return admin.fetch("GET", path, limits);
      try {
        return await kept.ask("GET", path, limits);
      } catch (thrown) {
        // Once more would be too late, and as large.
        if (thrown instanceof Http1Error && (thrown.code === "timeout" || thrown.code === "too-large")) throw thrown;
        return admin.fetch("GET", path, limits);
      }
    },
    close: () => kept.close(),
  };
}
