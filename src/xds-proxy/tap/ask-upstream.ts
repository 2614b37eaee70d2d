import { abortAfter } from "../../base/abort-after.ts";
import { assembleMessages } from "../../grpc/index.ts";
import { type DiscoveryResponse, discoveryRequest, discoveryResponse } from "../../protobuf/wire/discovery.ts";
import { WireWriter } from "../../protobuf/wire/wire-writer.ts";
import { ADS_PATHS } from "../../xds/methods.ts";
import { openUpstream } from "../open-upstream.ts";
import type { UpstreamOptions } from "../options.ts";

export interface DebugQuestion {
  readonly typeUrl: string;
  readonly resourceNames: readonly string[];
  /** The node of a client, as it introduced itself; a control plane answers only nodes that it knows. */
  readonly node: Buffer;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export type DebugAnswer =
  | { readonly outcome: "response"; readonly response: DiscoveryResponse; readonly bytes: Buffer }
  | { readonly outcome: "no-upstream" }
  /** `refusal` is what the control plane said instead of an answer. */
  | { readonly outcome: "no-answer"; readonly reason: string; readonly refusal?: string };

const NODE_FIELD = 2;

/** Asks one question on a stream of its own: what the control plane refuses ends this stream and no client's. */
export async function askUpstream(options: UpstreamOptions, question: DebugQuestion): Promise<DebugAnswer> {
  using limit = abortAfter(question.timeoutMs, question.signal);
  const upstream = await openUpstream(options, ADS_PATHS.sotw, { signal: limit.signal }).catch(() => undefined);
  if (upstream === undefined) return { outcome: limit.expired ? "no-answer" : "no-upstream", reason: "timeout" };
  try {
    let answer: Buffer | undefined;
    const reading = upstream.call.readFrames(
      assembleMessages((bytes) => {
        // The control plane may push other types meanwhile.
        if (answer === undefined && discoveryResponse.decode(bytes).typeUrl === question.typeUrl) {
          answer = Buffer.from(bytes);
          upstream.call.cancel("answered");
        }
      }),
    );
    const { typeUrl, resourceNames } = question;
    const request = Buffer.concat([lengthPrefixed(question.node), discoveryRequest.encode({ typeUrl, resourceNames })]);
    upstream.call.writeFrameStart(request.length);
    upstream.call.writeFrameBytes(request);
    const failure = await reading.then(
      () => undefined,
      ({ message }: Error) => (limit.expired ? "timeout" : message),
    );
    if (answer === undefined) {
      const refusal = limit.expired ? undefined : failure;
      return { outcome: "no-answer", reason: failure ?? "the stream ended", ...(refusal !== undefined && { refusal }) };
    }
    return { outcome: "response", response: discoveryResponse.decode(answer), bytes: answer };
  } finally {
    await upstream.close();
  }
}

function lengthPrefixed(node: Buffer): Buffer {
  const writer = new WireWriter();
  writer.bytes(NODE_FIELD, node);
  return writer.finish();
}
