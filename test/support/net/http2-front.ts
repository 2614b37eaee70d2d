import {
  type ClientHttp2Session,
  connect,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";

/** What a front does with a request instead of passing it on. */
export type FrontAnswer = (stream: ServerHttp2Stream) => void;

export interface Http2Front extends AsyncDisposable {
  readonly address: string;
  /** Requests so far, passed on or not. */
  readonly requests: number;
  /** From now on; undefined passes requests on. */
  answerWith(answer: FrontAnswer | undefined): void;
}

/** An HTTP/2 load balancer in front of one local port: connections end here, each request is passed on or answered here. */
export async function startHttp2Front(upstreamPort: number): Promise<Http2Front> {
  const sessions = new Set<{ destroy(): void }>();
  let answer: FrontAnswer | undefined;
  let requests = 0;
  let upstream: ClientHttp2Session | undefined;
  const upstreamSession = () => {
    if (upstream === undefined || upstream.closed || upstream.destroyed) {
      upstream = connect(`http://127.0.0.1:${upstreamPort}`).on("error", () => undefined);
      sessions.add(upstream);
    }
    return upstream;
  };
  const server = createServer();
  server.on("session", (session) => void sessions.add(session));
  server.on("stream", (stream, headers) => {
    requests += 1;
    stream.on("error", () => undefined);
    if (answer === undefined) passOn(stream, headers, upstreamSession());
    else answer(stream);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get requests() {
      return requests;
    },
    answerWith(next) {
      answer = next;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}

function passOn(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, upstream: ClientHttp2Session): void {
  const { connection: _, ...forwarded } = headers;
  const request = upstream.request(forwarded).on("error", () => undefined);
  let trailers: IncomingHttpHeaders = {};
  request.on("trailers", (received) => {
    trailers = received;
  });
  request.on("response", ({ date: __, ...received }) => {
    stream.respond(received, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    request.pipe(stream);
  });
  stream.on("close", () => request.close());
  stream.pipe(request);
}

/** A gRPC status without any message, in headers alone: what ingresses make of it when they have no backend. */
export function statusOnly(status: number, message = "no healthy upstream"): FrontAnswer {
  const headers = { ":status": 200, "content-type": "application/grpc" };
  return (stream) =>
    stream.respond({ ...headers, "grpc-status": String(status), "grpc-message": message }, { endStream: true });
}

/** The page of a load balancer. */
export function page(httpStatus: number): FrontAnswer {
  return (stream) => {
    stream.respond({ ":status": httpStatus, "content-type": "text/html" });
    stream.end("<html>nothing here</html>");
  };
}
