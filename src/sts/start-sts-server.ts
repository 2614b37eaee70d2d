import { setMaxListeners } from "node:events";
import { CodedError, errorCode, errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { type HttpAnswer, HttpError, type HttpHandler } from "../net/http-server/http-types.ts";
import { refuseForeignPages } from "../net/http-server/local-caller.ts";
import { createRouteTable } from "../net/http-server/route-table.ts";
import { startHttpServer } from "../net/http-server/start-http-server.ts";
import { errorAnswer, type JsonAnswer, statusAnswer, successAnswer } from "./core/answers.ts";
import { checkHead, parseExchangeRequest, StsError } from "./core/exchange-request.ts";
import type { TokenManager } from "./token-manager.ts";

export class StsListenError extends CodedError<"address-in-use" | "listen-failed"> {}

export interface StsServerOptions {
  /** `--stsPort`; zero takes any free one. */
  readonly port: number;
  /** Loopback only: "127.0.0.1", or "::1" where the machine has no IPv4. */
  readonly host?: "127.0.0.1" | "::1";
  readonly manager: TokenManager;
  readonly log: Logger;
  readonly maxBodyBytes?: number;
  readonly now?: () => number;
}

export interface StsServer extends Handle {
  readonly port: number;
}

const MAX_BODY_BYTES = 64 * 1024;
const LIMITS = {
  requestMs: 30_000,
  keepAliveMs: 90_000,
  halfClosedMs: 90_000,
  graceMs: 1_000,
  /** One Envoy has a handful; others on this machine must not use up the process's file descriptors. */
  maxConnections: 256,
};
/** Descriptions repeat what the client sent, which may be a token in the wrong field: the log gets only the beginning. */
const MAX_LOGGED = 160;

/** The token exchange of RFC 8693 for the Envoy beside us: `POST /token`, and `/stsStatus` for people. */
export async function startStsServer(options: StsServerOptions): Promise<StsServer> {
  const { port, host = "127.0.0.1", log } = options;
  const stopped = new AbortController();
  setMaxListeners(0, stopped.signal); // one for each exchange under way
  const table = createRouteTable();
  table.route("*", "/stsStatus", () => asJson(statusAnswer(options.manager.status())));
  table.route("*", "/token", exchangeHandler(options, stopped.signal));
  const server = await startHttpServer({
    listen: [{ host, port }],
    handler: table.handle,
    check: refuseForeignPages,
    readPath: (target) => target.split("?", 1)[0] ?? "",
    // RFC 6749: answers with tokens must not be cached on the way.
    headers: { "Cache-Control": "no-store" },
    onFailure: (thrown) => {
      log.error("token request failed", { error: errorMessage(thrown) });
      return asJson(errorAnswer({ code: "invalid_target", message: "internal error" }));
    },
    limits: LIMITS,
    log,
  }).catch((thrown: unknown) => {
    const code = errorCode(thrown) === "address-in-use" ? "address-in-use" : "listen-failed";
    const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
    const text = `failed to start STS server: cannot listen on ${host} port ${port}: ${errorMessage(cause)}`;
    throw new StsListenError(code, text, { cause });
  });
  return toHandle({
    port: server.port,
    ended: server.ended,
    async stop() {
      // Requests that wait for Google are answered with the cancellation.
      stopped.abort();
      await server.stop();
    },
  });
}

function exchangeHandler(options: StsServerOptions, signal: AbortSignal): HttpHandler {
  const { manager, log, maxBodyBytes = MAX_BODY_BYTES, now = Date.now } = options;
  return async (request) => {
    try {
      checkHead(request.method, request.headers["content-type"]);
      const body = await request.body(maxBodyBytes);
      const token = await manager.exchange(parseExchangeRequest(body.toString("utf8")), signal);
      return asJson(successAnswer(token, now()));
    } catch (failure) {
      if (failure instanceof HttpError) {
        const { body } = errorAnswer({ code: "invalid_request", message: "request body is too large" });
        return asJson({ status: failure.status, body });
      }
      if (!(failure instanceof StsError)) throw failure;
      const description = failure.message.slice(0, MAX_LOGGED);
      log.warn("token request refused", { error: failure.code, description });
      return asJson(errorAnswer(failure));
    }
  };
}

function asJson(answer: JsonAnswer): HttpAnswer {
  return { ...answer, contentType: "application/json" };
}
