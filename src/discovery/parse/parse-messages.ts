import type { ReadOptions } from "./config-parser.ts";
import type { Piece } from "./value-pieces.ts";

/** The worker's data, by which it knows that it is meant. */
export const PARSE_THREAD = "parse-thread";

export type ParseRequest =
  | { readonly type: "documents"; readonly bytes: Uint8Array; readonly options: ReadOptions }
  | { readonly type: "yaml"; readonly text: string };

/** `more` asks for the next piece: between two pieces the thread that serves does its other work. */
export type ToParseThread = ParseRequest | { readonly type: "more" };

/** One for each message, in their order. */
export type FromParseThread = { readonly piece: Piece } | { readonly failure: string };
