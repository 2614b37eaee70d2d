import type { Socket } from "node:net";
import type { AdsType } from "../../test/support/xds/following-client.ts";
import { DELTA_PATH, followDelta } from "./delta-proxy.ts";
import type { ProxiesAnswer, ProxiesRequest } from "./messages.ts";
import { openChannel, openStream } from "./open-stream.ts";
import { followSotw, SOTW_PATH } from "./sotw-proxy.ts";

const RETRY_MS = 100;

/** Many simulated proxies in one process; a text in the answers tells when a change has reached all of them. */
interface Waiting {
  readonly text: Buffer;
  /** Per proxy, the types that are still missing. */
  readonly missing: Set<string>[];
  open: number;
}

let waiting: Waiting | undefined;
let [counted, retries] = [0, 0];
const sockets: Socket[] = [];
const received = () => sockets.reduce((total, { bytesRead }) => total + bytesRead, 0);
const now = () => performance.timeOrigin + performance.now();

process.on("message", (request: ProxiesRequest) => {
  if (request.op === "connect") {
    expect(["CDS", "EDS", "LDS", "RDS"], "", request.count);
    for (let index = 0; index < request.count; index += 1) {
      void runProxy(request, index);
    }
    count = request.count;
    return;
  }
  expect(request.types, request.text, count);
  process.send?.("ready");
});

let count = 0;

function expect(types: readonly string[], text: string, proxies: number): void {
  waiting = { text: Buffer.from(text), missing: Array.from({ length: proxies }, () => new Set(types)), open: proxies };
}

function onAnswer(index: number, type: AdsType, message: Buffer): void {
  const missing = waiting?.missing[index];
  if (waiting === undefined || missing === undefined || !missing.has(type) || !message.includes(waiting.text)) return;
  missing.delete(type);
  if (missing.size > 0) return;
  waiting.open -= 1;
  if (waiting.open > 0) return;
  const at = now();
  waiting = undefined;
  // Once nothing of this push is on its way any more, its bytes are complete.
  setTimeout(() => {
    const answer: ProxiesAnswer = { at, bytes: received() - counted, retries };
    process.send?.(answer);
    [counted, retries] = [received(), 0];
  }, 300);
}

/** A sidecar without data plane. Only names are read from the answers, so that what is measured is the server. */
async function runProxy(
  { target, protocol, accepts }: Extract<ProxiesRequest, { op: "connect" }>,
  index: number,
): Promise<void> {
  const channel = openChannel(target, (socket) => sockets.push(socket));
  const [follow, path] = protocol === "sotw" ? [followSotw, SOTW_PATH] : [followDelta, DELTA_PATH];
  const run = async () =>
    follow(await openStream(channel, path, accepts), index, (type, message) => onAnswer(index, type, message));
  for (;;) {
    await run().catch(() => undefined);
    retries += 1;
    // The server may admit only so many new streams per second.
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
