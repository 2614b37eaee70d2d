import { setImmediate } from "node:timers/promises";
import { toHandle } from "../../base/handle.ts";
import { splitDocuments } from "../../files/yaml/split-documents.ts";
import { DIRECT_PARSER, digestOf, type ParsedDocument, parseDocument, type ReadOptions } from "./config-parser.ts";
import { type ParseThread, startParseThread } from "./start-parse-thread.ts";

/** The most hostile text of this size takes the parser about 15 ms; nearly every rule is smaller. */
const SMALL_CHARACTERS = 4096;
/** More than this together is worth a thread even in small documents: it would be a second of the serving one. */
const SMALL_TOTAL_BYTES = 1024 * 1024;
/** What else waits is served after this long. */
const TURN_MS = 5;

/**
 * Parses small documents in the calling thread, a few at a time, and others in a thread of their own. A rule that changes is small as a
 * rule: a second isolate for it would take longer to start than to parse, and tens of megabytes.
 */
export function startConfigParser(url: URL, options: { readonly idleMs?: number } = {}): ParseThread {
  const thread = startParseThread(url, options);
  return toHandle({
    readDocuments: async (bytes, read) =>
      bytes.length > SMALL_TOTAL_BYTES ? thread.readDocuments(bytes, read) : readEach(bytes, read, thread),
    parseYaml: async (text) => (isSmall(text) ? DIRECT_PARSER : thread).parseYaml(text),
    ended: thread.ended,
    stop: () => thread.stop(),
  } satisfies Pick<ParseThread, "readDocuments" | "parseYaml" | "ended" | "stop">);
}

/** With the thread of this program. */
export async function startParser(): Promise<ParseThread> {
  const { PARSE_THREAD_URL } = await import("./parse-thread-entry.ts");
  return startConfigParser(PARSE_THREAD_URL);
}

function isSmall(text: string): boolean {
  return text.length <= SMALL_CHARACTERS;
}

async function readEach(
  bytes: Uint8Array,
  options: ReadOptions,
  thread: ParseThread,
): Promise<readonly ParsedDocument[]> {
  const known = new Set(options.known);
  const documents: ParsedDocument[] = [];
  let turnEnds = performance.now() + TURN_MS;
  for (const document of splitDocuments(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"))) {
    if (isSmall(document.text) || known.has(digestOf(document.text)))
      documents.push(parseDocument(document, known, options));
    else {
      const parsed = await thread.readDocuments(Buffer.from(document.text), options);
      const { linesBefore: before } = document;
      documents.push(
        ...parsed.map((one) => ({ ...one, linesBefore: one.linesBefore + before, line: one.line + before })),
      );
    }
    if (performance.now() < turnEnds) continue;
    await setImmediate();
    turnEnds = performance.now() + TURN_MS;
  }
  return documents;
}
