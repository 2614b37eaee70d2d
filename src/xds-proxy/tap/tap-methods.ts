import { defineMethod, GrpcError, type Implementation, implement, rawCodec } from "../../grpc/index.ts";
import { discoveryRequest } from "../../protobuf/wire/discovery.ts";
import { ADS_PATHS } from "../../xds/methods.ts";
import type { AskDebug } from "./debug-handler.ts";

const TIMEOUT_MS = 15_000;
const DEBUG_PREFIX = "istio.io/debug/";

/** One question per stream: its answer, or an empty response when none came, and the end. */
export function tapMethods(ask: AskDebug): Implementation[] {
  const stream = { kind: "bidi", request: rawCodec, response: rawCodec } as const;
  return [
    implement(defineMethod({ path: ADS_PATHS.sotw, ...stream }), async (requests, call) => {
      for await (const bytes of requests) {
        const { typeUrl, resourceNames } = discoveryRequest.decode(Buffer.from(bytes));
        if (!typeUrl.startsWith(DEBUG_PREFIX)) return;
        const answer = await ask(typeUrl, resourceNames, TIMEOUT_MS);
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
