import { CodedError, errorMessage } from "../../base/coded-error.ts";
import { deepFreeze } from "../../base/deep-freeze.ts";
import { type Handle, toHandle } from "../../base/handle.ts";
import { type Ask, startTaskThread } from "../../process/start-task-thread.ts";
import type { ConfigParser, ParsedDocument, ParsedYaml } from "./config-parser.ts";
import { type FromParseThread, PARSE_THREAD, type ParseRequest, type ToParseThread } from "./parse-messages.ts";
import { PieceJoiner } from "./value-pieces.ts";

export interface ParseThread extends Omit<ConfigParser, "stop">, Handle {}

export class ParseThreadError extends CodedError<"parser-failed" | "stopped"> {}

/** As much as one large document takes. */
const MAX_HEAP_MB = 768;
/** Files change in bursts; in between the thread's memory is given back. */
const IDLE_MS = 5000;

/**
 * Parses in a thread of its own, so that xDS, CA and `/ready` are served meanwhile. What it found comes in pieces, because taking it over
 * costs the serving thread time, too.
 */
export function startParseThread(url: URL, { idleMs = IDLE_MS }: { readonly idleMs?: number } = {}): ParseThread {
  const thread = startTaskThread<ToParseThread, FromParseThread>({
    url,
    data: PARSE_THREAD,
    maxHeapMb: MAX_HEAP_MB,
    idleMs,
  });
  const send = async (request: ParseRequest): Promise<readonly unknown[]> => {
    if (thread.isStopped) throw new ParseThreadError("stopped", "the parser is stopped");
    try {
      return await thread.run((ask) => takePieces(ask, request));
    } catch (thrown) {
      if (thrown instanceof ParseThreadError) throw thrown;
      const size = request.type === "yaml" ? request.text.length : request.bytes.length;
      const reason = `the text of ${size} bytes could not be parsed: ${errorMessage(thrown)}`;
      throw new ParseThreadError(thread.isStopped ? "stopped" : "parser-failed", reason, { cause: thrown });
    }
  };
  return toHandle({
    readDocuments: async (bytes, options) =>
      (await send({ type: "documents", bytes, options })) as readonly ParsedDocument[],
    parseYaml: async (text) => (await send({ type: "yaml", text }))[0] as ParsedYaml,
    ended: thread.ended,
    stop: () => thread.stop(),
  } satisfies ConfigParser & Pick<Handle, "ended" | "stop">);
}

async function takePieces(
  ask: Ask<ToParseThread, FromParseThread>,
  request: ParseRequest,
): Promise<readonly unknown[]> {
  // A clone is not frozen any more.
  const joiner = new PieceJoiner(deepFreeze);
  let message: ToParseThread = request;
  for (;;) {
    const answer = await ask(message);
    if ("failure" in answer) throw new ParseThreadError("parser-failed", answer.failure);
    const list = joiner.add(answer.piece);
    if (list !== undefined) return list;
    message = { type: "more" };
  }
}
