import { Worker } from "node:worker_threads";
import { CodedError, errorMessage } from "../../base/coded-error.ts";
import { deepFreeze } from "../../base/deep-freeze.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import type { ConfigParser, ParsedDocument, ParsedYaml } from "./config-parser.ts";
import { type FromParseThread, PARSE_THREAD, type ParseRequest, type ToParseThread } from "./parse-messages.ts";
import { PieceJoiner } from "./value-pieces.ts";

export interface ParseThread extends Omit<ConfigParser, "stop">, Handle {}

export class ParseThreadError extends CodedError<"parser-failed" | "stopped"> {}

/** As many as one large document takes; a worker that needs more dies and takes its document along, not the control plane. */
const LIMITS = { maxOldGenerationSizeMb: 768, maxYoungGenerationSizeMb: 16 };
/** Files change in bursts; in between the thread's memory is given back. */
const IDLE_MS = 5000;

/**
 * Parses in a thread of its own, so that xDS, CA and `/ready` are served meanwhile. The thread starts with the first request, ends when
 * there was none for `idleMs`, and has one request at a time: when it dies, as for lack of memory, that one fails and the next has a new
 * thread. What it found comes in pieces, because taking it over costs the serving thread time, too.
 */
export function startParseThread(url: URL, { idleMs = IDLE_MS }: { readonly idleMs?: number } = {}): ParseThread {
  let worker: Worker | undefined;
  let isStopped = false;
  let waiting = 0;
  let idle: NodeJS.Timeout | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const run = async (request: ParseRequest): Promise<readonly unknown[]> => {
    if (isStopped) throw new ParseThreadError("stopped", "the parser is stopped");
    worker ??= startWorker(url, (dead) => {
      if (worker === dead) worker = undefined;
    });
    try {
      return await takePieces(worker, request);
    } catch (thrown) {
      if (thrown instanceof ParseThreadError) throw thrown;
      const size = request.type === "yaml" ? request.text.length : request.bytes.length;
      const reason = `the text of ${size} bytes could not be parsed: ${errorMessage(thrown)}`;
      throw new ParseThreadError(isStopped ? "stopped" : "parser-failed", reason, { cause: thrown });
    }
  };
  const endIdle = () => {
    const unused = worker;
    worker = undefined;
    void unused?.terminate();
  };
  const send = (request: ParseRequest): Promise<readonly unknown[]> => {
    clearTimeout(idle);
    waiting++;
    const turn = last
      .then(() => run(request))
      .finally(() => {
        if (--waiting === 0 && !isStopped) idle = setTimeout(endIdle, idleMs).unref();
      });
    last = turn.catch(() => undefined);
    return turn;
  };
  return toHandle({
    readDocuments: async (bytes, options) =>
      (await send({ type: "documents", bytes, options })) as readonly ParsedDocument[],
    parseYaml: async (text) => (await send({ type: "yaml", text }))[0] as ParsedYaml,
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      isStopped = true;
      clearTimeout(idle);
      await worker?.terminate();
    },
  } satisfies ConfigParser & Pick<Handle, "ended" | "stop">);
}

async function takePieces(worker: Worker, request: ParseRequest): Promise<readonly unknown[]> {
  // A clone is not frozen any more.
  const joiner = new PieceJoiner(deepFreeze);
  let message: ToParseThread = request;
  for (;;) {
    const answer = await nextMessage(worker, message);
    if ("failure" in answer) throw new ParseThreadError("parser-failed", answer.failure);
    const list = joiner.add(answer.piece);
    if (list !== undefined) return list;
    message = { type: "more" };
  }
}

function startWorker(url: URL, onDeath: (worker: Worker) => void): Worker {
  // Options of the main thread's command line (inspector, profiles, loaders) are not for it.
  const worker = new Worker(url, {
    workerData: PARSE_THREAD,
    execArgv: [],
    name: PARSE_THREAD,
    resourceLimits: LIMITS,
  });
  worker.on("error", () => onDeath(worker));
  worker.on("exit", () => onDeath(worker));
  return worker;
}

/** Rejects when the worker dies. */
function nextMessage(worker: Worker, message: ToParseThread): Promise<FromParseThread> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number) => settle(() => reject(new Error(`the parser's thread ended with code ${code}`)));
    const onError = (failure: unknown) => settle(() => reject(failure));
    const onMessage = (answer: FromParseThread) => settle(() => resolve(answer));
    const settle = (act: () => void) => {
      worker.off("exit", onExit).off("error", onError).off("message", onMessage);
      act();
    };
    worker.on("exit", onExit).on("error", onError).on("message", onMessage);
    worker.postMessage(message);
  });
}
