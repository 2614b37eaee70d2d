import type { Handle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { text } from "../net/http-server/http-types.ts";
import { createRouteTable } from "../net/http-server/route-table.ts";
import { startHttpServer } from "../net/http-server/start-http-server.ts";
import type { ListenAddress, ListenOptions } from "../net/listen/listen.ts";
import type { ServerTls } from "../net/listen/tls-acceptor.ts";
import { createGate } from "./gate.ts";
import { createReviewHandler, type Reviewer, type ReviewLimits } from "./review-handler.ts";

export interface AdmissionServerOptions {
  readonly listen: ListenOptions;
  /** Asked for at each handshake: a certificate that was replaced counts for the next connection. */
  readonly tls: ServerTls;
  /** By path; `/inject` takes everything below it too. */
  readonly reviewers: Readonly<Record<string, Reviewer>>;
  /** Why the server is not ready; empty when it is. */
  readonly notReady?: () => string;
  readonly limits?: Partial<ReviewLimits & { readonly maxReviews: number; readonly graceMs: number }>;
  readonly log: Logger;
}

export interface AdmissionServer extends Handle {
  readonly address: ListenAddress;
}

/** As the reference has them; an object of an API server is at most half as large. */
const MAX_BODY_BYTES = 6 * 1024 * 1024;
/** No API server waits longer. */
const BUDGET_MS = 30_000;
/** Each holds a body in memory. */
const MAX_REVIEWS = 64;
const MAX_CONNECTIONS = 4096;
const TIMES = { headersMs: 30_000, requestMs: 30_000, keepAliveMs: 90_000 };

/** Serves reviewers over HTTPS. When the promise resolves the port is bound. */
export async function startAdmissionServer(options: AdmissionServerOptions): Promise<AdmissionServer> {
  const { maxBodyBytes = MAX_BODY_BYTES, budgetMs = BUDGET_MS } = options.limits ?? {};
  const { maxReviews = MAX_REVIEWS, graceMs = BUDGET_MS } = options.limits ?? {};
  const parts = { gate: createGate(maxReviews), limits: { maxBodyBytes, budgetMs }, log: options.log };
  const table = createRouteTable();
  for (const [path, reviewer] of Object.entries(options.reviewers)) {
    const handler = createReviewHandler(reviewer, parts);
    table.route("*", path, handler);
    table.route("*", `${path}/`, handler);
  }
  table.route("*", "/ready", () => {
    const reason = options.notReady?.() ?? "";
    return reason === "" ? text(200, "ready") : text(503, reason);
  });
  return startHttpServer({
    listen: [options.listen],
    tls: options.tls,
    handler: table.handle,
    headers: { "X-Content-Type-Options": "nosniff" },
    limits: { ...TIMES, graceMs, maxConnections: MAX_CONNECTIONS },
    log: options.log,
  });
}
