import { isMainThread, type MessagePort, parentPort, workerData } from "node:worker_threads";
import { errorMessage } from "../../base/coded-error.ts";
import { DIRECT_PARSER } from "./config-parser.ts";
import { type FromParseThread, PARSE_THREAD, type ToParseThread } from "./parse-messages.ts";

/** This file is a program for a worker; the bundler gives it a chunk of its own, because it is imported dynamically. */
export const PARSE_THREAD_URL = new URL(import.meta.url);

// Workers of other programs may import this file too.
if (!isMainThread && parentPort !== null && workerData === PARSE_THREAD) serve(parentPort);

function serve(port: MessagePort): void {
  port.on("message", async (request: ToParseThread) => {
    try {
      port.postMessage({ result: await answer(request) } satisfies FromParseThread);
    } catch (thrown) {
      port.postMessage({ failure: errorMessage(thrown) } satisfies FromParseThread);
    }
  });
}

function answer(request: ToParseThread): Promise<unknown> {
  if (request.type === "document") return DIRECT_PARSER.readDocument(request.text, request.options);
  return DIRECT_PARSER.parseYaml(request.text);
}
