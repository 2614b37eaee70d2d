import type { DnsServer } from "../dns/index.ts";
import { type RouteHandler, type StatusServer, sendText } from "../status/index.ts";

export interface DebugSources {
  readonly dns: Pick<DnsServer, "describe"> | undefined;
  readonly secrets: { describeCertificates(): unknown };
  readonly xds: { describeStreams(): unknown } | undefined;
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
  status.route(
    "*",
    "/debug/ndsz",
    (_request, response) => {
      const table = dns?.describe();
      response.setHeader("Content-Type", table === undefined ? "text/plain; charset=utf-8" : "application/json");
      sendText(response, table === undefined ? 404 : 200, table ?? "{}");
    },
    loopbackOnly,
  );
}
