import type { Accepts } from "./open-stream.ts";

/** What the benchmark tells the process of simulated proxies. */
export type ProxiesRequest =
  | {
      readonly op: "connect";
      readonly target: string;
      readonly count: number;
      readonly protocol: "sotw" | "delta";
      /** What the proxies let the server compress with. */
      readonly accepts: Accepts;
    }
  /** Waits until every proxy got an answer of each of these types that contains the text. */
  | { readonly op: "expect"; readonly types: readonly string[]; readonly text: string };

export interface ProxiesAnswer {
  /** Milliseconds since the epoch at which the last proxy had it. */
  readonly at: number;
  /** Bytes that came over the proxies' connections since the last answer. */
  readonly bytes: number;
  /** Streams that had to be opened again. */
  readonly retries: number;
}
