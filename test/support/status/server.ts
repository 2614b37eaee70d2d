import type { Logger } from "../../../src/base/logger.ts";
import { createReadiness } from "../../../src/base/readiness.ts";
import { type StatusServerOptions, startStatusServer } from "../../../src/status/start-status-server.ts";

/** A status server on a free port of the loopback whose drain and quit do nothing. */
export function startTestStatusServer(log: Logger, options: Partial<StatusServerOptions> = {}) {
  return startStatusServer({
    port: 0,
    hosts: ["127.0.0.1"],
    readiness: createReadiness(log),
    actions: { drain: async () => undefined, quit: () => undefined },
    version: {},
    log,
    ...options,
  });
}
