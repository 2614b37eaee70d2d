import { abortAfter } from "../../base/abort-after.ts";
import { errorMessage } from "../../base/coded-error.ts";
import { assembleMessages } from "../../grpc/index.ts";
import { type DiscoveryResponse, discoveryRequest, discoveryResponse } from "../../protobuf/wire/discovery.ts";
import { WireWriter } from "../../protobuf/wire/wire-writer.ts";
import { askOnce } from "../ask-once.ts";
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

export async function askUpstream(options: UpstreamOptions, question: DebugQuestion): Promise<DebugAnswer> {
  using limit = abortAfter(question.timeoutMs, question.signal);
  const { typeUrl, resourceNames } = question;
  let answer: Buffer | undefined;
  const asked = await askOnce(options, {
    kind: "sotw",
    request: Buffer.concat([lengthPrefixed(question.node), discoveryRequest.encode({ typeUrl, resourceNames })]),
    signal: limit.signal,
    sink: (satisfied) =>
      assembleMessages((bytes) => {
        // The control plane may push other types meanwhile.
        if (answer === undefined && discoveryResponse.decode(bytes).typeUrl === typeUrl) {
          answer = Buffer.from(bytes);
          satisfied();
        }
      }),
  }).then(
    (failure) => ({ failure }),
    () => undefined,
  );
  if (asked === undefined) return { outcome: limit.expired ? "no-answer" : "no-upstream", reason: "timeout" };
  if (answer !== undefined) return { outcome: "response", response: discoveryResponse.decode(answer), bytes: answer };
  if (limit.expired) return { outcome: "no-answer", reason: "timeout" };
  if (asked.failure === undefined) return { outcome: "no-answer", reason: "the stream ended" };
  const refusal = errorMessage(asked.failure);
  return { outcome: "no-answer", reason: refusal, refusal };
}

function lengthPrefixed(node: Buffer): Buffer {
  const writer = new WireWriter();
  writer.bytes(NODE_FIELD, node);
  return writer.finish();
}
