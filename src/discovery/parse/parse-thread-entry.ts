import { isMainThread, type MessagePort, parentPort, workerData } from "node:worker_threads";
import { errorMessage } from "../../base/coded-error.ts";
import { DIRECT_PARSER, parseDocuments } from "./config-parser.ts";
import { type FromParseThread, PARSE_THREAD, type ParseRequest, type ToParseThread } from "./parse-messages.ts";
import { cutList, type Piece } from "./value-pieces.ts";

/** This file is a program for a worker; the bundler gives it a chunk of its own, because it is imported dynamically. */
export const PARSE_THREAD_URL = new URL(import.meta.url);

// Workers of other programs may import this file too.
if (!isMainThread && parentPort !== null && workerData === PARSE_THREAD) serve(parentPort);

function serve(port: MessagePort): void {
  let pieces: Iterator<Piece, void> | undefined;
  port.on("message", async (message: ToParseThread) => {
    try {
      if (message.type !== "more") pieces = cutList(await answer(message));
      const { value: piece } = pieces?.next() ?? { value: undefined };
      if (piece === undefined) throw new Error("there is no piece left");
      port.postMessage({ piece } satisfies FromParseThread);
    } catch (thrown) {
      port.postMessage({ failure: errorMessage(thrown) } satisfies FromParseThread);
    }
  });
}

async function answer(request: ParseRequest): Promise<Iterable<unknown>> {
  if (request.type === "documents") return parseDocuments(request.bytes, request.options);
  return [await DIRECT_PARSER.parseYaml(request.text)];
}
