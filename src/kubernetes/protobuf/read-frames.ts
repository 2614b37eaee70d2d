import { WIRE_BYTES, WireReader } from "../../protobuf/wire/wire-reader.ts";
import { decodeObject, decodeStatus } from "./envelope.ts";
import { type MessageShape, shape } from "./message-shape.ts";

const LENGTH_BYTES = 4;

/**
 * Frames of a watch, each behind its length. Only a frame that comes in pieces is copied: a copy of each chunk would be as much memory again
 * until the next collection. The end of the stream drops a frame that is not complete.
 */
export async function* frames(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let pieces: Buffer[] = [];
  let held = 0;
  let wanted = LENGTH_BYTES;
  for await (const chunk of body) {
    let start = 0;
    // The frame that began before: its length first, then its rest.
    while (held > 0 && start < chunk.length) {
      const taken = Math.min(chunk.length - start, wanted - held);
      pieces.push(chunk.subarray(start, start + taken));
      held += taken;
      start += taken;
      if (held === LENGTH_BYTES) wanted += Buffer.concat(pieces).readUInt32BE(0);
      if (held < wanted) continue;
      yield Buffer.concat(pieces).subarray(LENGTH_BYTES);
      [pieces, held, wanted] = [[], 0, LENGTH_BYTES];
    }
    if (held > 0) continue;
    for (let end = endOfFrame(chunk, start); end <= chunk.length; end = endOfFrame(chunk, start)) {
      yield chunk.subarray(start + LENGTH_BYTES, end);
      start = end;
    }
    held = chunk.length - start;
    if (held === 0) continue;
    pieces = [chunk.subarray(start)];
    if (held >= LENGTH_BYTES) wanted += chunk.readUInt32BE(start);
  }
}

/** Behind the chunk where the frame is not complete. */
function endOfFrame(chunk: Buffer, start: number): number {
  if (chunk.length - start < LENGTH_BYTES) return Number.POSITIVE_INFINITY;
  return start + LENGTH_BYTES + chunk.readUInt32BE(start);
}

/** All that is read of a bookmark. */
const BOOKMARK = shape({ metadata: [1, shape({ resourceVersion: [6, "text"], annotations: [12, "labels"] })] });

/** An event in the form of its JSON. Throws for what is not an event. */
export function decodeEvent(
  frame: Buffer,
  members: MessageShape,
  share: (text: string) => string,
): { readonly type: string; readonly object: unknown } {
  const reader = new WireReader(frame);
  let type = "";
  let object: Buffer | undefined;
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === 1 && wire === WIRE_BYTES) type = reader.string();
    else if (field === 2 && wire === WIRE_BYTES) object = rawOf(reader.bytes());
    else reader.skip(wire);
  }
  if (object === undefined) return { type, object };
  if (type === "ERROR") return { type, object: decodeStatus(object) };
  return { type, object: decodeObject(object, type === "BOOKMARK" ? BOOKMARK : members, share) };
}

/** The member `raw` of what holds any object. */
function rawOf(extension: Buffer): Buffer | undefined {
  const reader = new WireReader(extension);
  while (!reader.atEnd) {
    const { field, wire } = reader.tag();
    if (field === 1 && wire === WIRE_BYTES) return reader.bytes();
    reader.skip(wire);
  }
  return undefined;
}
