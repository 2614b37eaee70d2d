import { setMaxListeners } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CodedError, errorCode, errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { answerHalfClosed } from "../net/answer-half-closed.ts";
import { errorAnswer, type JsonAnswer, statusAnswer, successAnswer } from "./core/answers.ts";
import { checkHead, parseExchangeRequest } from "./core/exchange-request.ts";
import { StsError } from "./sts-error.ts";
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
const IDLE_TIMEOUT_MS = 90_000;
const READ_TIMEOUT_MS = 30_000;
/** One Envoy has a handful; others on this machine must not use up the process's file descriptors. */
const MAX_CONNECTIONS = 256;
/** Descriptions repeat what the client sent, which may be a token in the wrong field: the log gets only the beginning. */
const MAX_LOGGED = 160;

/** The token exchange of RFC 8693 for the Envoy beside us: `POST /token`, and `/stsStatus` for people. */
export async function startStsServer(options: StsServerOptions): Promise<StsServer> {
  const stopped = new AbortController();
  setMaxListeners(0, stopped.signal); // one for each exchange under way
  const server = createServer(
    { requestTimeout: READ_TIMEOUT_MS, keepAliveTimeout: IDLE_TIMEOUT_MS },
    (request, response) => {
      answer(request, options, stopped.signal)
        .then((reply) => send(response, reply))
        .catch((failure: unknown) => {
          // A client that left needs no answer; anything else is ours to look at.
          if (!request.complete) return options.log.debug("client went away", { error: errorMessage(failure) });
          options.log.error("token request failed", { error: errorMessage(failure) });
          send(response, errorAnswer({ code: "invalid_target", message: "internal error" }));
        });
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  answerHalfClosed(server, IDLE_TIMEOUT_MS);
  await bind(server, options);
  // Connections that could not be accepted: without a listener the second one would end the process.
  const ended = new Promise<void>((_resolve, reject) => server.on("error", reject));
  return toHandle({
    port: (server.address() as AddressInfo).port,
    ended,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        // Requests that wait for Google are answered with the cancellation; connections without one go at once.
        stopped.abort();
        server.closeIdleConnections();
        setTimeout(() => server.closeAllConnections(), 1_000).unref();
      }),
  });
}

async function answer(request: IncomingMessage, options: StsServerOptions, signal: AbortSignal): Promise<JsonAnswer> {
  const path = (request.url ?? "").split("?")[0];
  if (path === "/stsStatus") return statusAnswer(options.manager.status());
  if (path !== "/token") return { status: 404, body: "404 page not found\n" };
  try {
    checkHead(request.method ?? "", request.headers["content-type"]);
    const body = await readBody(request, options.maxBodyBytes ?? MAX_BODY_BYTES);
    if (body === undefined) {
      const message = "request body is too large";
      return { ...errorAnswer({ code: "invalid_request", message }), status: 413 };
    }
    const token = await options.manager.exchange(parseExchangeRequest(body), signal);
    return successAnswer(token, (options.now ?? Date.now)());
  } catch (failure) {
    if (!(failure instanceof StsError)) throw failure;
    const description = failure.message.slice(0, MAX_LOGGED);
    options.log.warn("token request refused", { error: failure.code, description });
    return errorAnswer(failure);
  }
}

/** Undefined when it is larger than allowed; the rest is not read. */
async function readBody(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > maxBytes) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function send(response: ServerResponse, reply: JsonAnswer): void {
  const type = reply.status === 404 ? "text/plain; charset=utf-8" : "application/json";
  // RFC 6749: answers with tokens must not be cached on the way.
  const headers = {
    "content-type": type,
    "cache-control": "no-store",
    "content-length": Buffer.byteLength(reply.body),
  };
  // What is left of an oversized body is not worth reading to keep the connection.
  response
    .writeHead(reply.status, reply.status === 413 ? { ...headers, connection: "close" } : headers)
    .end(reply.body);
}

function bind(server: Server, options: StsServerOptions): Promise<void> {
  const host = options.host ?? "127.0.0.1";
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      const code = errorCode(cause) === "EADDRINUSE" ? "address-in-use" : "listen-failed";
      reject(
        new StsListenError(code, `STS server cannot listen on ${host} port ${options.port}: ${cause.message}`, {
          cause,
        }),
      );
    });
    server.listen({ host, port: options.port }, () => {
      server.removeAllListeners("error");
      resolve();
    });
  });
}
