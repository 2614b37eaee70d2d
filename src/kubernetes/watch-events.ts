import { errorMessage } from "../base/coded-error.ts";
import type { ResponseBody } from "../net/http2/open-http2-session.ts";
import { KubernetesError, statusError } from "./kubernetes-error.ts";
import { type ApiObject, asObject } from "./objects.ts";
import type { MessageShape } from "./protobuf/message-shape.ts";
import { decodeEvent, frames } from "./protobuf/read-frames.ts";

/** What a watch says. A bookmark has nothing but a resource version, and marks the end of the initial events when they were asked for. */
export type WatchEvent =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: ApiObject }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string; readonly endsInitialEvents: boolean }
  | { readonly type: "ERROR"; readonly error: KubernetesError };

/** How to read objects that come in their binary form. */
export interface BinaryForm {
  readonly shape: MessageShape;
  readonly share: (text: string) => string;
}

/**
 * The events of a watch, each one line of JSON of any length, or one frame where they come in their binary form. Ends where the server ends it; a line that is not complete then is
 * dropped. Rejects with "unreachable" when the connection is lost and with "bad-answer" for what is not an event.
 */
export async function* readWatch(
  body: ResponseBody,
  what: string,
  signal: AbortSignal,
  binary?: BinaryForm,
): AsyncGenerator<WatchEvent, void, undefined> {
  const stop = () => body.destroy();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    if (binary === undefined) for await (const line of lines(body)) yield toEvent(parseText(line, what), what);
    else for await (const frame of frames(body)) yield toEvent(parseFrame(frame, binary, what), what);
  } catch (cause) {
    if (signal.aborted) return;
    if (cause instanceof KubernetesError) throw cause;
    throw new KubernetesError("unreachable", `cannot ${what}: ${errorMessage(cause)}`, { cause });
  } finally {
    signal.removeEventListener("abort", stop);
    body.destroy();
  }
}

const NEWLINE = 10;

/** Pieces of a long line are joined once, at its end. */
async function* lines(body: ResponseBody): AsyncGenerator<string, void, undefined> {
  let pieces: Buffer[] = [];
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const piece = chunk.subarray(start, end);
      const line = pieces.length === 0 ? piece : Buffer.concat([...pieces, piece]);
      pieces = [];
      start = end + 1;
      const text = line.toString("utf8");
      if (text.trim() !== "") yield text;
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
  }
}

/**
 * Who last wrote which field is half of what a server sends of a pod, and not read here: it is cut out before the line is parsed, which
 * halves the time (bench/kubernetes). The list ends at its first "]", unless a text in it has one: then what is left of that text stands
 * between quotes that do not match, which is not JSON, and the line is parsed whole.
 */
function parseLine(line: string): { readonly type?: unknown; readonly object?: unknown } {
  const start = line.indexOf(MANAGED_FIELDS);
  const end = start === -1 ? -1 : line.indexOf("]", start);
  const spec = line.indexOf('"spec":');
  // Behind that it would be a member of the object itself.
  if (end === -1 || (spec !== -1 && spec < start)) return JSON.parse(line);
  try {
    return JSON.parse(`${line.slice(0, start)}${line.slice(end + 1)}`);
  } catch {
    return JSON.parse(line);
  }
}

const MANAGED_FIELDS = ',"managedFields":[';
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

type ParsedEvent = { readonly type?: unknown; readonly object?: unknown };

function parseText(line: string, what: string): ParsedEvent {
  try {
    return parseLine(line);
  } catch (failure) {
    const reason = errorMessage(failure).slice(0, 100);
    throw bad(what, `a line of the watch is not JSON (${line.length} characters): ${reason}`);
  }
}

function parseFrame(frame: Buffer, { shape, share }: BinaryForm, what: string): ParsedEvent {
  try {
    return decodeEvent(frame, shape, share);
  } catch (failure) {
    throw bad(what, `a frame of the watch is not an event (${frame.length} bytes): ${errorMessage(failure)}`);
  }
}

function bad(what: string, reason: string): KubernetesError {
  return new KubernetesError("bad-answer", `cannot ${what}: ${reason}`);
}

function toEvent(event: ParsedEvent, what: string): WatchEvent {
  const type = event?.type;
  if (type === "ERROR") {
    const { code } = (event.object ?? {}) as { code?: unknown };
    return { type, error: statusError(what, typeof code === "number" ? code : 500, event.object) };
  }
  const object = asObject(event?.object);
  if (object === undefined) throw bad(what, "an event of the watch has no object");
  if (type === "BOOKMARK") {
    const { resourceVersion = "", annotations } = object.metadata;
    if (resourceVersion === "") throw bad(what, "a bookmark has no resource version");
    return { type, resourceVersion, endsInitialEvents: annotations?.[INITIAL_EVENTS_END] === "true" };
  }
  if (type !== "ADDED" && type !== "MODIFIED" && type !== "DELETED")
    throw bad(what, `${JSON.stringify(type)} is not a type of event`);
  if (typeof object.metadata.name !== "string" || typeof object.metadata.resourceVersion !== "string")
    throw bad(what, "an object of the watch has no name or no resource version");
  return { type, object };
}
