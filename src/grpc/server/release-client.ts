import type { ServerHttp2Stream } from "node:http2";

const NO_ERROR = 0;
const RETRY_MS = 50;

/**
 * After the status is on its way: a client that still sends is asked to stop (RST_STREAM NO_ERROR), and what it has sent is dropped,
 * because unread bytes would hold the stream open for ever. A reset overtakes trailers that are still queued, so it waits for them.
 */
export function releaseClient(stream: ServerHttp2Stream): void {
  if (stream.readableEnded) return;
  stream.resume();
  setImmediate(resetWhenSent, stream);
}

function resetWhenSent(stream: ServerHttp2Stream): void {
  if (stream.destroyed || stream.closed) return;
  if (stream.state.localClose === 1) stream.close(NO_ERROR);
  else setTimeout(resetWhenSent, RETRY_MS, stream).unref();
}
