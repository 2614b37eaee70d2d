import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import { FrameScanner } from "../../../src/grpc/frame-scanner.ts";
import { assembleMessages } from "../../../src/grpc/message-assembler.ts";

export interface RawAnswer {
  readonly httpStatus: number;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  /** As they came, packed or not. */
  readonly messages: readonly Buffer[];
  /** The flag of each message. */
  readonly compressed: readonly boolean[];
  /** Status and message from wherever they came: trailers, or the headers of a trailers-only answer. */
  readonly status: string | undefined;
  readonly message: string;
  readonly isTrailersOnly: boolean;
  readonly resetCode: number;
}

/** An HTTP/2 client that says exactly what the test wants, however wrong. */
export function connectRaw(port: number): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => undefined);
  return session;
}

export function grpcHeaders(path: string, extra: OutgoingHttpHeaders = {}): OutgoingHttpHeaders {
  return { ":method": "POST", ":path": path, te: "trailers", "content-type": "application/grpc", ...extra };
}

/** Sends a whole request body and collects the whole answer. */
export function requestRaw(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body: Buffer,
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const stream = session.request(headers);
    const messages: Buffer[] = [];
    const compressed: boolean[] = [];
    const sink = assembleMessages((bytes, isCompressed) => {
      messages.push(Buffer.from(bytes));
      compressed.push(isCompressed);
    });
    const scanner = new FrameScanner(sink, 2 ** 31);
    const seen: { headers: IncomingHttpHeaders; trailers: IncomingHttpHeaders } = { headers: {}, trailers: {} };
    stream.on("error", () => undefined);
    stream.on("response", (received) => void Object.assign(seen, { headers: received }));
    stream.on("trailers", (received) => void Object.assign(seen, { trailers: received }));
    stream.on("data", (chunk: Buffer) => void scanner.feed(chunk));
    stream.on("close", () => {
      const carrier = seen.trailers["grpc-status"] === undefined ? seen.headers : seen.trailers;
      resolve({
        ...seen,
        httpStatus: Number(seen.headers[":status"]),
        messages,
        compressed,
        status: carrier["grpc-status"]?.toString(),
        message: decodeURIComponent(carrier["grpc-message"]?.toString() ?? ""),
        isTrailersOnly: seen.headers["grpc-status"] !== undefined,
        resetCode: stream.rstCode ?? 0,
      });
    });
    stream.end(body);
  });
}
