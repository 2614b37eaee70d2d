import { json } from "../net/http-server/http-types.ts";
import type { StatusServer } from "./start-status-server.ts";

export interface DebugSources {
  /** Undefined while there is no table. */
  readonly dns: { describe(): string | undefined } | undefined;
  readonly secrets: { describeCertificates(): unknown };
  readonly xds: { describeStreams(): unknown } | undefined;
}

/** What the parts know of themselves, for operators on this machine. Never a key or a token. */
export function addDebugRoutes(status: StatusServer, { dns, secrets, xds }: DebugSources): void {
  const localOnly = { localOnly: true };
  status.route("GET", "/debug/certs", async () => json(await secrets.describeCertificates()), localOnly);
  if (xds !== undefined) status.route("GET", "/debug/xdsz", async () => json(await xds.describeStreams()), localOnly);
  status.route(
    "*",
    "/debug/ndsz",
    () => {
      const table = dns?.describe();
      return table === undefined
        ? { status: 404, contentType: "text/plain; charset=utf-8", body: "{}" }
        : { status: 200, contentType: "application/json", body: table };
    },
    localOnly,
  );
}
