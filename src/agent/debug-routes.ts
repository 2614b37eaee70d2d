import type { DnsServer } from "../dns/index.ts";
import type { SecretManager } from "../identity/index.ts";
import { type RouteHandler, type StatusServer, sendText } from "../status/index.ts";
import type { XdsProxy } from "../xds-proxy/index.ts";

export interface DebugSources {
  readonly dns: DnsServer | undefined;
  readonly secrets: SecretManager;
  readonly xds: XdsProxy | undefined;
}

/** What the parts know of themselves, for operators on this machine. Never a key or a token. */
export function addDebugRoutes(status: StatusServer, { dns, secrets, xds }: DebugSources): void {
  const json =
    (describe: () => unknown): RouteHandler =>
    async (_request, response) => {
      const body = JSON.stringify(await describe(), undefined, 2);
      response.setHeader("Content-Type", "application/json");
      sendText(response, 200, `${body}\n`);
    };
  const loopbackOnly = { loopbackOnly: true };
  status.route(
    "GET",
    "/debug/certs",
    json(() => secrets.describeCertificates()),
    loopbackOnly,
  );
  if (xds !== undefined)
    status.route(
      "GET",
      "/debug/xdsz",
      json(() => xds.describeStreams()),
      loopbackOnly,
    );
  if (dns === undefined) return;
  status.route(
    "*",
    "/debug/ndsz",
    (_request, response) => {
      response.setHeader("Content-Type", "application/json");
      sendText(response, 200, dns.describe() ?? "{}");
    },
    loopbackOnly,
  );
}
