import { createServer, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";

export interface RawServer extends AsyncDisposable {
  readonly port: number;
  readonly target: string;
  readonly sessions: ReadonlySet<ServerHttp2Session>;
  /** Headers of the requests so far. */
  readonly requests: readonly IncomingHttpHeaders[];
}

/** An HTTP/2 server that answers exactly what the test wants, however wrong. */
export async function startRawServer(
  answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
): Promise<RawServer> {
  const sessions = new Set<ServerHttp2Session>();
  const requests: IncomingHttpHeaders[] = [];
  const server = createServer();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => undefined).on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    requests.push(headers);
    answer(stream, headers);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    target: `127.0.0.1:${port}`,
    sessions,
    requests,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}

export const GRPC_ANSWER = { ":status": 200, "content-type": "application/grpc" } as const;

/** Headers, the given body, then trailers. */
export function answerWith(
  stream: ServerHttp2Stream,
  body: Buffer,
  trailers: Record<string, string>,
  headers = {},
): void {
  stream.respond({ ...GRPC_ANSWER, ...headers }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  stream.end(body);
}
