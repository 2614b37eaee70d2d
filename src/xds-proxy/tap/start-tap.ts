import { createServer as createHttpServer } from "node:http";
import { type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { errorMessage } from "../../base/coded-error.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { createRequestHandler } from "../../grpc/index.ts";
import type { UpstreamOptions } from "../options.ts";
import { REFLECTED_SERVICES, readAdsFiles, reflectionMethods } from "../reflection/reflection-methods.ts";
import { XdsProxyError } from "../xds-proxy-error.ts";
import { type AskDebug, answerHttp, type HttpAnswer } from "./answer-http.ts";
import { askUpstream } from "./ask-upstream.ts";
import { tapMethods } from "./tap-methods.ts";

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

const PREFACE = Buffer.from("PRI ");
const IDLE_MS = 90_000;
const READ_MS = 30_000;
const MAX_REQUEST_BYTES = 4 * 1024 * 1024;

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

  const { readMs = READ_MS } = options;
  const limits = { keepAliveTimeout: IDLE_MS, requestTimeout: readMs, headersTimeout: readMs };
  const http1 = createHttpServer({ ...limits, connectionsCheckingInterval: readMs / 2 }, async (request, response) => {
    const send = ({ status, body, contentType = "text/plain; charset=utf-8" }: HttpAnswer) => {
      response.writeHead(status, { "content-type": contentType });
      response.end(body);
    };
    request.resume();
    if (/\bh2c\b/i.test(request.headers.upgrade ?? "")) return send({ status: 405, body: "h2c upgrade not allowed\n" });
    send(await answerHttp(request.url ?? "/", ask, log));
  });
  // It gets its connections from us, but only a server that listens looks at its time limits.
  http1.emit("listening");
  const grpc = createRequestHandler({
    methods: [...tapMethods(ask), ...reflectionMethods(readAdsFiles, REFLECTED_SERVICES)],
    log,
    maxReceiveBytes: MAX_REQUEST_BYTES,
  });
  const onStream = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
    if (headers["content-type"]?.startsWith("application/grpc")) return grpc(stream, headers, raw);
    stream.on("error", () => undefined).resume();
    const {
      status,
      body,
      contentType = "text/plain; charset=utf-8",
    } = await answerHttp(headers[":path"] ?? "/", ask, log);
    if (stream.destroyed) return;
    stream.respond({ ":status": status, "content-type": contentType });
    stream.end(body);
  };

  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy()).once("close", () => sockets.delete(socket));
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    // The first bytes tell the protocol.
    socket.once("data", (first: Buffer) => {
      socket.pause();
      socket.unshift(first);
      const isHttp2 = first
        .subarray(0, PREFACE.length)
        .equals(PREFACE.subarray(0, Math.min(PREFACE.length, first.length)));
      if (!isHttp2) {
        http1.emit("connection", socket);
        setImmediate(() => socket.resume());
        return;
      }
      const session = performServerHandshake(socket);
      session.on("error", () => undefined).on("stream", onStream);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => {
      const text = `failed to start istio tap server: ${errorMessage(cause)}`;
      reject(new XdsProxyError("tap-failed", text, { cause }));
    });
    server.listen(options.port, options.host ?? "localhost", resolve);
  });
  return toHandle({
    port: (server.address() as AddressInfo).port,
    // Connections that could not be accepted: without a listener the second one would end the process.
    ended: new Promise<void>((_resolve, reject) => server.on("error", reject)),
    async stop() {
      stopping.abort();
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
      http1.close();
      await turn;
    },
  });
}
