import type { ServerResponse } from "node:http";
import type { Logger } from "../base/logger.ts";
import type { Readiness } from "./readiness.ts";
import { type Router, sendError, sendText } from "./router.ts";

/** What the shutdown endpoints set in motion; an agent without Envoy simply has nothing to drain. */
export interface StatusActions {
  /** Drains Envoy's listeners and keeps everything running. */
  drain(): Promise<void>;
  /** Ends the agent without a drain. */
  quit(): void;
}

export interface EndpointOptions {
  readonly readiness: Readiness;
  readonly actions: StatusActions;
  readonly hasDrain?: boolean;
  /** JSON for `/version`. */
  readonly version: Readonly<Record<string, string>>;
  readonly log: Logger;
}

export function registerEndpoints(router: Router, options: EndpointOptions): void {
  const { readiness, actions, version, log, hasDrain = true } = options;
  router.route("*", "/healthz/ready", async (_request, response) => {
    const reasons = await readiness.reasons();
    const lines = [...reasons, ...readiness.notes()];
    sendText(response, reasons.length === 0 ? 200 : 503, lines.map((line) => `${line}\n`).join(""));
  });
  router.route(
    "POST",
    "/quitquitquit",
    (_request, response) => {
      log.info("handling /quitquitquit, notifying pilot-agent to exit");
      // The answer has to be on its way before the process ends.
      response.once("close", () => actions.quit());
      sendOk(response);
    },
    { loopbackOnly: true },
  );
  if (hasDrain) registerDrain(router, actions, log);
  router.route(
    "*",
    "/debug/",
    (_request, response, path) => {
      if (path !== "/debug/") return sendError(response, 404, "404 page not found");
      response.setHeader("Content-Type", "text/plain; charset=utf-8");
      const pages = router.paths().filter((page) => page.startsWith("/debug/") && page !== path);
      sendText(response, 200, pages.map((page) => `${page}\n`).join(""));
    },
    { loopbackOnly: true },
  );
  router.route("GET", "/version", (_request, response) => {
    response.setHeader("Content-Type", "application/json");
    sendText(response, 200, `${JSON.stringify(version)}\n`);
  });
}

function registerDrain(router: Router, actions: StatusActions, log: Logger): void {
  router.route(
    "POST",
    "/drain",
    (_request, response) => {
      log.info("handling /drain, starting drain");
      response.once("close", () => {
        actions.drain().catch((thrown) => log.warn("drain failed", { error: String(thrown) }));
      });
      sendOk(response);
    },
    { loopbackOnly: true },
  );
}

function sendOk(response: ServerResponse): void {
  response.setHeader("Content-Type", "text/plain; charset=utf-8");
  sendText(response, 200, "OK");
}
