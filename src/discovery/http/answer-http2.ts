import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Logger } from "../../base/logger.ts";
import { answerCall, answerHeaders, type Routes, toCall } from "./answer-call.ts";

/** Answers requests that come over HTTP/2, on a port that xDS shares with them, as those over HTTP/1. */
export function createHttp2Answer(
  routes: Routes,
  log: Logger,
): (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void {
  return (stream, headers) => {
    stream.on("error", () => undefined); // the client is gone, which nobody has to know
    void answer(stream, headers, routes, log);
  };
}

async function answer(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  routes: Routes,
  log: Logger,
): Promise<void> {
  const { ":method": method, ":path": target, ":authority": authority = "" } = headers;
  const call = toCall({
    method,
    target,
    headers: { ...headers, host: headers.host ?? authority },
    peerAddress: stream.session?.socket.remoteAddress,
    body: stream,
  });
  const given = await answerCall(call, routes, log);
  if (stream.destroyed) return;
  const body = Buffer.from(given.body);
  stream.respond({ ":status": given.status, ...answerHeaders(given, body.length) });
  stream.end(method === "HEAD" ? undefined : body);
}
