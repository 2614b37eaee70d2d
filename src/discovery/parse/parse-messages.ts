import type { DecodeOptions } from "../../istio-api/decode/decode-object.ts";

/** The worker's data, by which it knows that it is meant. */
export const PARSE_THREAD = "parse-thread";

export type ToParseThread =
  | { readonly type: "document"; readonly text: string; readonly options: DecodeOptions }
  | { readonly type: "yaml"; readonly text: string };

/** One for each request, in their order. */
export type FromParseThread = { readonly result: unknown } | { readonly failure: string };
