import { CodedError } from "../../base/coded-error.ts";

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

export class FramingError extends CodedError<"malformed-chunk"> {}

export interface Http1Head {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  /** Bytes up to and with the blank line. */
  readonly length: number;
}

/** Where a body begins and ends in the bytes behind the head. */
export interface BodyFraming {
  push(bytes: Buffer): void;
  /** The connection ended. */
  end(): void;
}

export interface FramingSink {
  data(bytes: Buffer): void;
  end(): void;
}

/** Interim answers (100 to 199) are skipped. */
export function parseHead(bytes: Buffer, start = 0): Http1Head | "incomplete" | "malformed" {
  const end = headEnd(bytes, start);
  if (end < 0) return "incomplete";
  const [first = "", ...lines] = bytes.toString("latin1", start, end).trimEnd().split(/\r?\n/);
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first)?.[1]);
  if (!Number.isInteger(status)) return "malformed";
  if (status >= 100 && status < 200) return parseHead(bytes, end);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon <= 0) return "malformed";
    const name = line.slice(0, colon).toLowerCase();
    if (!headers.has(name)) headers.set(name, line.slice(colon + 1).trim());
  }
  return { status, headers, length: end };
}

/** Behind the blank line, or -1. Exporters written as shell scripts end lines without a carriage return, and others take it. */
function headEnd(bytes: Buffer, start: number): number {
  for (let at = bytes.indexOf(NEWLINE, start); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) {
    if (bytes[at + 1] === NEWLINE) return at + 2;
    if (bytes[at + 1] === CARRIAGE_RETURN && bytes[at + 2] === NEWLINE) return at + 3;
  }
  return -1;
}

export function createFraming({ status, headers }: Http1Head, sink: FramingSink): BodyFraming {
  if (/(?:^|,)\s*chunked\s*$/i.test(headers.get("transfer-encoding") ?? "")) return chunked(sink);
  const length = headers.get("content-length");
  if (status === 204 || status === 304) return sized(0, sink);
  if (length === undefined) return { push: (bytes) => bytes.length > 0 && sink.data(bytes), end: () => sink.end() };
  return sized(/^\d+$/.test(length) ? Number(length) : Number.NaN, sink);
}

function sized(length: number, sink: FramingSink): BodyFraming {
  let left = length;
  if (Number.isNaN(left)) throw new FramingError("malformed-chunk", "malformed Content-Length");
  return {
    push(bytes) {
      const part = bytes.length <= left ? bytes : bytes.subarray(0, left);
      left -= part.length;
      if (part.length > 0) sink.data(part);
      if (left === 0) sink.end();
    },
    end: () => undefined,
  };
}

const LONGEST_SIZE_LINE = 256;
const LONGEST_TRAILER_LINE = 16 * 1024;

/** `size [;extension] CRLF data CRLF`, any number of times, then a size of 0 and trailers. */
function chunked(sink: FramingSink): BodyFraming {
  let state: "size" | "data" | "gap" | "trailers" | "done" = "size";
  let line = "";
  let left = 0;
  const readLine = (bytes: Buffer, at: number): number => {
    const newline = bytes.indexOf(NEWLINE, at);
    line += bytes.toString("latin1", at, newline < 0 ? bytes.length : newline);
    if (line.length > (state === "trailers" ? LONGEST_TRAILER_LINE : LONGEST_SIZE_LINE))
      throw new FramingError("malformed-chunk", "malformed chunked encoding");
    return newline < 0 ? -1 : newline + 1;
  };
  const push = (bytes: Buffer): void => {
    let at = 0;
    while (at < bytes.length && state !== "done") {
      if (state === "data") {
        const end = Math.min(bytes.length, at + left);
        left -= end - at;
        sink.data(bytes.subarray(at, end));
        at = end;
        if (left === 0) state = "gap";
        continue;
      }
      const next = readLine(bytes, at);
      if (next < 0) return;
      at = next;
      const text = line.trim();
      line = "";
      if (state === "gap") {
        if (text !== "") throw new FramingError("malformed-chunk", "malformed chunked encoding");
        state = "size";
      } else if (state === "trailers") {
        if (text === "") state = "done";
      } else {
        const size = /^([0-9a-f]{1,13})(?:\s*;.*)?$/i.exec(text)?.[1];
        if (size === undefined) throw new FramingError("malformed-chunk", "malformed chunked encoding");
        left = Number.parseInt(size, 16);
        state = left === 0 ? "trailers" : "data";
      }
    }
    if (state === "done") sink.end();
  };
  return { push, end: () => undefined };
}
