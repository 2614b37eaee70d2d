import type { Logger } from "../base/logger.ts";
import type { Readiness } from "../base/readiness.ts";
import { errorText, type HttpAnswer, type HttpHandler } from "../net/http-server/http-types.ts";
import type { StatusRoutes } from "./status-routes.ts";

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

const LOCAL_ONLY = { localOnly: true };

export function registerEndpoints(routes: StatusRoutes, options: EndpointOptions): void {
  const { readiness, actions, version, log, hasDrain = true } = options;
  routes.route("*", "/healthz/ready", async () => {
    const reasons = await readiness.reasons();
    const lines = [...reasons, ...readiness.notes()];
    return { status: reasons.length === 0 ? 200 : 503, body: lines.map((line) => `${line}\n`).join("") };
  });
  const quit = () => {
    log.info("handling /quitquitquit, notifying pilot-agent to exit");
    return actions.quit;
  };
  routes.route("POST", "/quitquitquit", afterAnswer(quit), LOCAL_ONLY);
  const drain = () => {
    log.info("handling /drain, starting drain");
    return () => void actions.drain().catch((thrown) => log.warn("drain failed", { error: String(thrown) }));
  };
  if (hasDrain) routes.route("POST", "/drain", afterAnswer(drain), LOCAL_ONLY);
  routes.route(
    "*",
    "/debug/",
    ({ path }) => {
      if (path !== "/debug/") return errorText(404, "404 page not found");
      const pages = routes.paths().filter((page) => page.startsWith("/debug/") && page !== path);
      return plainText(pages.map((page) => `${page}\n`).join(""));
    },
    LOCAL_ONLY,
  );
  routes.route("GET", "/version", () => ({
    status: 200,
    contentType: "application/json",
    body: `${JSON.stringify(version)}\n`,
  }));
}

export function plainText(body: string): HttpAnswer {
  return { status: 200, contentType: "text/plain; charset=utf-8", body };
}

/** Answers OK and acts when the answer has left: it has to be on its way before the process ends. */
function afterAnswer(begin: () => () => void): HttpHandler {
  return ({ closed }) => {
    closed.addEventListener("abort", begin(), { once: true });
    return plainText("OK");
  };
}
