import { createGrpcChannel } from "../../src/grpc/index.ts";
import type { AdsType } from "../../test/support/discovery-ads-client.ts";
import { followDelta } from "./delta-proxy.ts";
import type { ProxiesAnswer, ProxiesRequest } from "./messages.ts";
import { followSotw } from "./sotw-proxy.ts";

const RETRY_MS = 100;
/** Envoy's own windows are larger still. */
const WINDOW_BYTES = 64 * 1024 * 1024;

/** Many simulated proxies in one process; a text in the answers tells when a change has reached all of them. */
interface Waiting {
  readonly text: Buffer;
  /** Per proxy, the types that are still missing. */
  readonly missing: Set<string>[];
  open: number;
}

let waiting: Waiting | undefined;
let [bytes, retries] = [0, 0];
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
  bytes += message.length;
  const missing = waiting?.missing[index];
  if (waiting === undefined || missing === undefined || !missing.has(type) || !message.includes(waiting.text)) return;
  missing.delete(type);
  if (missing.size > 0) return;
  waiting.open -= 1;
  if (waiting.open > 0) return;
  const answer: ProxiesAnswer = { at: now(), bytes, retries };
  waiting = undefined;
  // Once nothing of this push is on its way any more, its bytes are complete.
  setTimeout(() => {
    process.send?.({ ...answer, bytes });
    [bytes, retries] = [0, 0];
  }, 300);
}

/** A sidecar without data plane. Only names are read from the answers, so that what is measured is the server. */
async function runProxy(
  { target, protocol }: Extract<ProxiesRequest, { op: "connect" }>,
  index: number,
): Promise<void> {
  const channel = createGrpcChannel(target, { maxReceiveBytes: 2 ** 30, windowBytes: WINDOW_BYTES });
  const follow = protocol === "sotw" ? followSotw : followDelta;
  for (;;) {
    await follow(channel, index, (type, message) => onAnswer(index, type, message)).catch(() => undefined);
    retries += 1;
    // The server may admit only so many new streams per second.
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
