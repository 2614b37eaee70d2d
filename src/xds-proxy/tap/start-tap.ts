import type { Socket } from "node:net";
import { errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import {
  createGrpcAcceptor,
  defineMethod,
  GrpcError,
  type Implementation,
  implement,
  rawCodec,
} from "../../grpc/index.ts";
import { createHttp2Answer } from "../../net/http-server/exchanges.ts";
import { errorText, type HttpHandler } from "../../net/http-server/http-types.ts";
import { refuseForeignPages } from "../../net/http-server/local-caller.ts";
import { startHttpServer } from "../../net/http-server/start-http-server.ts";
import { discoveryRequest } from "../../protobuf/wire/discovery.ts";
import { ADS_PATHS } from "../../xds/methods.ts";
import type { UpstreamOptions } from "../options.ts";
import { REFLECTED_SERVICES, readAdsFiles, reflectionMethods } from "../reflection/reflection-methods.ts";
import { XdsProxyError } from "../xds-proxy-error.ts";
import { askUpstream, type DebugAnswer } from "./ask-upstream.ts";

const TIMEOUT_MS = 5000;
/** Clients that use a proxy have the host in the request line too. */
const ABSOLUTE = /^https?:\/\/[^/?#]*/i;

export interface TapOptions {
  readonly host?: string;
  readonly port: number;
  readonly upstream: UpstreamOptions;
  /** The node of a connected client; undefined while there is none. */
  node(): Buffer | undefined;
  /** How long a request may take to come; half a minute when absent. */
  readonly readMs?: number;
  readonly log: Logger;
}

export interface Tap extends Handle {
  readonly port: number;
}

const IDLE_MS = 90_000;
const READ_MS = 30_000;

/**
 * The control plane's debug pages for tools on this machine, over HTTP/1.1, HTTP/2 and gRPC on one port. Each question has a stream of
 * its own to the control plane; they are asked one after the other.
 */
export async function startTap(options: TapOptions): Promise<Tap> {
  const { log, upstream } = options;
  const stopping = new AbortController();
  let turn: Promise<unknown> = Promise.resolve();
  const ask: AskDebug = (typeUrl, resourceNames, timeoutMs) => {
    const mine = turn.then(async () => {
      const node = options.node();
      if (node === undefined) return { outcome: "no-upstream" } as const;
      return askUpstream(upstream, { typeUrl, resourceNames, node, timeoutMs, signal: stopping.signal });
    });
    turn = mine.catch(() => undefined);
    return mine;
  };

  const pages = { handler: debugHandler(ask, log), check: refuseForeignPages, readPath: readDebugPath, log };
  const http2 = createGrpcAcceptor({
    methods: [...tapMethods(ask), ...reflectionMethods(readAdsFiles, REFLECTED_SERVICES)],
    onOtherRequest: createHttp2Answer(pages),
    log,
  });
  const { host = "localhost", port, readMs = READ_MS } = options;
  const server = await startHttpServer({
    ...pages,
    listen: [{ host, port }],
    onHttp2: (socket: Socket) => {
      socket.setTimeout(IDLE_MS, () => socket.destroy());
      http2.accept(socket);
    },
    limits: { headersMs: readMs, requestMs: readMs, keepAliveMs: IDLE_MS, idleMs: IDLE_MS, silenceMs: IDLE_MS },
  }).catch((thrown: unknown) => {
    const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
    throw new XdsProxyError("tap-failed", `failed to start istio tap server: ${errorMessage(cause)}`, { cause });
  });
  return toHandle({
    port: server.port,
    ended: server.ended,
    async stop() {
      stopping.abort();
      http2.stop();
      await server.stop();
      await turn;
    },
  });
}

const ANSWER_MS = 15_000;
const DEBUG_PREFIX = "istio.io/debug/";

/** One question per stream: its answer, or an empty response when none came, and the end. */
function tapMethods(ask: AskDebug): Implementation[] {
  const stream = { kind: "bidi", request: rawCodec, response: rawCodec } as const;
  return [
    implement(defineMethod({ path: ADS_PATHS.sotw, ...stream }), async (requests, call) => {
      for await (const bytes of requests) {
        const { typeUrl, resourceNames } = discoveryRequest.decode(Buffer.from(bytes));
        if (!typeUrl.startsWith(DEBUG_PREFIX)) return;
        const answer = await ask(typeUrl, resourceNames, ANSWER_MS);
        if (answer.outcome === "no-upstream") throw new GrpcError("UNAVAILABLE", "proxy not connected to Istiod");
        await call.write(answer.outcome === "response" ? answer.bytes : Buffer.alloc(0));
        return;
      }
    }),
    implement(defineMethod({ path: ADS_PATHS.delta, ...stream }), async () => {
      throw new GrpcError("UNKNOWN", "not implemented");
    }),
  ];
}

type AskDebug = (typeUrl: string, resourceNames: readonly string[], timeoutMs: number) => Promise<DebugAnswer>;

/** `/debug/...` with an optional `resourceName`, any method, as the control plane's page of the same path. */
function debugHandler(ask: AskDebug, log: Logger): HttpHandler {
  return async ({ headers, path, target }) => {
    if (/\bh2c\b/i.test(headers.upgrade ?? "")) return errorText(405, "h2c upgrade not allowed");
    if (path === "") return errorText(400, "400 Bad Request");
    if (path !== "/debug" && !path.startsWith("/debug/")) return errorText(404, "404 page not found");
    const [, query] = splitOnce(target, "?");
    const problem = queryProblem(query);
    if (problem !== undefined) return errorText(400, problem);
    const name = new URLSearchParams(query).get("resourceName");
    const typeUrl = `istio.io${path}`;
    const answer = await ask(typeUrl, name === null || name === "" ? [] : [name], TIMEOUT_MS);
    if (answer.outcome === "no-upstream") return errorText(503, "proxy not connected to Istiod");
    if (answer.outcome === "no-answer") {
      log.info(`timed out waiting for Istiod to respond to "${typeUrl}"`, { reason: answer.reason });
      // Who asks from a shell sees this text, not the log: most often the identity may not read debug pages.
      return answer.refusal === undefined ? { status: 504, body: "" } : errorText(504, answer.refusal);
    }
    try {
      // Few pods are ever asked for these pages, and the tables behind them are not small.
      const { responseJson } = await import("./core/response-json.ts");
      const body = `${responseJson(answer.response)}\n`;
      return { status: 200, body, contentType: "application/json" };
    } catch (failure) {
      return errorText(500, errorMessage(failure));
    }
  };
}

/** The target's path with its escapes resolved; empty when one of them is none. */
function readDebugPath(target: string): string {
  try {
    return decodeURIComponent(splitOnce(target.replace(ABSOLUTE, ""), "?")[0]);
  } catch {
    return "";
  }
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** Go's rules: no semicolons, and every percent sign begins an escape. */
function queryProblem(query: string): string | undefined {
  if (query.includes(";")) return "invalid semicolon separator in query";
  const bad = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(query);
  return bad === null ? undefined : `invalid URL escape ${JSON.stringify(bad[0])}`;
}
