import { Worker } from "node:worker_threads";
import { CodedError, errorMessage } from "../../base/coded-error.ts";
import { deepFreeze } from "../../base/deep-freeze.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { DocumentResult } from "../../istio-api/decode/parse-config-text.ts";
import type { ConfigParser, ParsedYaml } from "./config-parser.ts";
import { type FromParseThread, PARSE_THREAD, type ToParseThread } from "./parse-messages.ts";

export interface ParseThread extends ConfigParser, Handle {}

export class ParseThreadError extends CodedError<"parser-failed" | "stopped"> {}

/**
 * Parses in a thread of its own, so that xDS, CA and `/ready` are served meanwhile. The thread starts with the first request and has one
 * request at a time: when it dies, as for lack of memory, that one fails and the next has a new thread.
 */
export function startParseThread(url: URL): ParseThread {
  let worker: Worker | undefined;
  let isStopped = false;
  let last: Promise<unknown> = Promise.resolve();
  const run = async (request: ToParseThread): Promise<unknown> => {
    if (isStopped) throw new ParseThreadError("stopped", "the parser is stopped");
    worker ??= startWorker(url, (dead) => {
      if (worker === dead) worker = undefined;
    });
    try {
      const answer = await nextMessage(worker, request);
      if ("result" in answer) return answer.result;
      throw new ParseThreadError("parser-failed", answer.failure);
    } catch (thrown) {
      if (thrown instanceof ParseThreadError) throw thrown;
      const reason = `the text of ${request.text.length} characters could not be parsed: ${errorMessage(thrown)}`;
      throw new ParseThreadError(isStopped ? "stopped" : "parser-failed", reason, { cause: thrown });
    }
  };
  const send = (request: ToParseThread): Promise<unknown> => {
    const turn = last.then(() => run(request));
    last = turn.catch(() => undefined);
    return turn;
  };
  return toHandle({
    // A clone is not frozen any more.
    readDocument: async (text, options) =>
      deepFreeze((await send({ type: "document", text, options })) as DocumentResult),
    parseYaml: async (text) => (await send({ type: "yaml", text })) as ParsedYaml,
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      isStopped = true;
      await worker?.terminate();
    },
  } satisfies ConfigParser & Pick<Handle, "ended" | "stop">);
}

function startWorker(url: URL, onDeath: (worker: Worker) => void): Worker {
  // Options of the main thread's command line (inspector, profiles, loaders) are not for it.
  const worker = new Worker(url, { workerData: PARSE_THREAD, execArgv: [], name: PARSE_THREAD });
  worker.on("error", () => onDeath(worker));
  worker.on("exit", () => onDeath(worker));
  return worker;
}

/** Rejects when the worker dies. */
function nextMessage(worker: Worker, request: ToParseThread): Promise<FromParseThread> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number) => settle(() => reject(new Error(`the parser's thread ended with code ${code}`)));
    const onError = (failure: unknown) => settle(() => reject(failure));
    const onMessage = (message: FromParseThread) => settle(() => resolve(message));
    const settle = (act: () => void) => {
      worker.off("exit", onExit).off("error", onError).off("message", onMessage);
      act();
    };
    worker.on("exit", onExit).on("error", onError).on("message", onMessage);
    worker.postMessage(request);
  });
}
