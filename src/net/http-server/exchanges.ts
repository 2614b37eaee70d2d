import type { IncomingMessage, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { type AnswerOptions, answerExchange, type HttpExchange } from "./answer-exchange.ts";

export function http1Exchange(request: IncomingMessage, response: ServerResponse): HttpExchange {
  return {
    method: request.method ?? "GET",
    target: request.url ?? "/",
    headers: request.headers,
    rawHeaders: request.rawHeaders,
    peerAddress: request.socket.remoteAddress,
    input: request,
    get hasBegun() {
      return response.headersSent;
    },
    get isClosed() {
      return response.destroyed || response.closed;
    },
    begin(status, headers) {
      // The rest of a body that was not read would be taken for the next request, or hold it up.
      const isUnread = !request.complete && announcesBody(request);
      return response.writeHead(status, isUnread ? { ...headers, Connection: "close" } : headers);
    },
    onClose: (listener) => void response.once("close", listener),
    abort: () => void response.destroy(),
  };
}

/** Answers requests that arrive over HTTP/2 on a port that gRPC shares with them, as those over HTTP/1. */
export function createHttp2Answer(
  options: AnswerOptions,
): (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void {
  return (stream, headers) => {
    stream.on("error", () => undefined); // the client is gone, which ends the answer too
    void answerExchange(http2Exchange(stream, headers), options);
  };
}

function http2Exchange(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): HttpExchange {
  const { ":method": method = "GET", ":path": target = "/", ":authority": authority = "" } = headers;
  return {
    method,
    target,
    headers: { ...headers, host: headers.host ?? authority },
    rawHeaders: Object.entries(headers).flatMap(([name, value]) =>
      [value ?? []].flat().flatMap((each) => [name, each]),
    ),
    peerAddress: stream.session?.socket.remoteAddress,
    input: stream,
    get hasBegun() {
      return stream.headersSent;
    },
    get isClosed() {
      return stream.destroyed || stream.closed;
    },
    begin(status, answerHeaders) {
      stream.respond({ ":status": status, ...answerHeaders });
      return stream;
    },
    onClose: (listener) => void stream.once("close", listener),
    abort: () => void stream.destroy(),
  };
}

function announcesBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}
