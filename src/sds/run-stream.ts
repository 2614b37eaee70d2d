import { GrpcError, type ServerWriter } from "../grpc/index.ts";
import { Inbox } from "./inbox.ts";
import type { SdsContext } from "./sds-context.ts";
import { WatchSet } from "./watch-set.ts";

/** The rules of one kind of stream. */
export interface StreamRules<Request> {
  onRequest(request: Request): Promise<void>;
  onChanged(names: readonly string[]): Promise<void>;
}

/** Runs one stream to its end, one event at a time. Whatever a rule throws becomes the stream's status. */
export async function runStream<Request, Response>(
  context: SdsContext,
  requests: AsyncIterable<Request>,
  call: ServerWriter<Response>,
  createRules: (watches: WatchSet) => StreamRules<Request>,
): Promise<void> {
  const inbox = new Inbox<Request>();
  const watches = new WatchSet(context.source, (name) => inbox.changed(name));
  const rules = createRules(watches);
  void inbox.pump(requests);
  try {
    for (;;) {
      const event = await inbox.next();
      if (event.type === "end") return;
      if (event.type === "request") await rules.onRequest(event.request);
      else await rules.onChanged(event.names);
    }
  } catch (failure) {
    // A client that went away is the normal end of a stream.
    if (call.signal.aborted) return;
    if (failure instanceof GrpcError && failure.code !== "UNKNOWN" && failure.code !== "INVALID_ARGUMENT") {
      context.metrics.internalErrors.inc();
    }
    throw failure;
  } finally {
    inbox.close();
    watches.close();
  }
}
