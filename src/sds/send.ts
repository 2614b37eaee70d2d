import { GrpcError, type ServerWriter } from "../grpc/index.ts";
import type { SdsContext } from "./sds-context.ts";

/** Waits until the client's window has room, so that one stream never holds more than one answer. */
export async function send<Response>(
  context: SdsContext,
  call: ServerWriter<Response>,
  response: Response,
): Promise<void> {
  const startMs = performance.now();
  await within(context, call.write(response));
  context.metrics.sendTime.observe((performance.now() - startMs) / 1000);
}

function within(context: SdsContext, written: Promise<void>): Promise<void> {
  const { sendTimeoutMs, metrics } = context;
  if (sendTimeoutMs === undefined) return written;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      metrics.writeTimeouts.inc();
      reject(new GrpcError("DEADLINE_EXCEEDED", `the client took no answer within ${sendTimeoutMs} ms`));
    }, sendTimeoutMs);
    written.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
