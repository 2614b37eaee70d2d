/** What the benchmark tells the process of simulated proxies. */
export type ProxiesRequest =
  | {
      readonly op: "connect";
      readonly target: string;
      readonly count: number;
      readonly protocol: "sotw" | "delta";
    }
  /** Waits until every proxy got an answer of each of these types that contains the text. */
  | { readonly op: "expect"; readonly types: readonly string[]; readonly text: string };

export interface ProxiesAnswer {
  /** Milliseconds since the epoch at which the last proxy had it. */
  readonly at: number;
  /** Bytes of gRPC messages since the last answer. */
  readonly bytes: number;
  /** Streams that had to be opened again. */
  readonly retries: number;
}
