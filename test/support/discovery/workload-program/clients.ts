import { randomBytes } from "node:crypto";
import { Agent, request as requestHttp } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { request as requestHttps, Agent as TlsAgent } from "node:https";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type {
  GrpcRequest,
  GrpcResult,
  HttpRequest,
  HttpResult,
  Target,
  TcpRequest,
  TcpResult,
  WebSocketRequest,
  WebSocketResult,
} from "./protocol.ts";
import { acceptKey, readFrames, textFrame } from "./websocket-frames.ts";

/** For a busy machine: who means a time says so. */
const TIMEOUT_MS = 30_000;

/** Requests as an application would send them, from this workload's place in the network. */
export async function http(request: HttpRequest): Promise<readonly HttpResult[]> {
  const { count = 1, concurrency = 1 } = request;
  const results: HttpResult[] = [];
  await using sender = request.version === 2 ? http2Sender(request) : http1Sender(request);
  let started = 0;
  const worker = async () => {
    while (started < count) {
      started += 1;
      const begin = performance.now();
      const result = await sender.send().catch((thrown: unknown) => failure(thrown));
      results.push({ ...result, ms: Math.round(performance.now() - begin) });
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, worker));
  return results;
}

type Sent = Omit<HttpResult, "ms">;

interface Sender extends AsyncDisposable {
  send(): Promise<Sent>;
}

function failure(thrown: unknown): Sent {
  return { status: 0, headers: {}, body: "", error: thrown instanceof Error ? thrown.message : String(thrown) };
}

function http1Sender(request: HttpRequest): Sender {
  const { address, port, tls, host, path = "/", method = "GET", headers, body, timeoutMs = TIMEOUT_MS } = request;
  const options = { keepAlive: request.fresh !== true, maxSockets: request.concurrency ?? 1 };
  const agent =
    tls === undefined
      ? new Agent(options)
      : new TlsAgent({ ...options, ...tls, ALPNProtocols: [...(tls.alpn ?? [])], rejectUnauthorized: false });
  const send = tls === undefined ? requestHttp : requestHttps;
  return {
    send: () =>
      new Promise((resolve, reject) => {
        const call = send(
          { host: address, port, path, method, agent, headers: { ...headers, host }, timeout: timeoutMs },
          async (response) => {
            const chunks: Buffer[] = [];
            try {
              for await (const chunk of response) chunks.push(chunk as Buffer);
            } catch (thrown) {
              reject(thrown);
              return;
            }
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers as Sent["headers"],
              body: Buffer.concat(chunks).toString(),
            });
          },
        );
        call.on("timeout", () => call.destroy(new Error(`no answer within ${timeoutMs} ms`)));
        call.on("error", reject);
        call.end(body);
      }),
    [Symbol.asyncDispose]: async () => agent.destroy(),
  };
}

function http2Sender(request: HttpRequest): Sender {
  const { host, path = "/", method = "GET", headers, body } = request;
  const session = openSession(request);
  return {
    send: async () => {
      const { status, answered, bytes } = await exchange(session, request, {
        ...headers,
        ":method": method,
        ":path": path,
        ":authority": host,
        body: body ?? "",
      });
      return { status, headers: answered, body: bytes.toString() };
    },
    [Symbol.asyncDispose]: async () => session.destroy(),
  };
}

function openSession({ address, port, tls }: Target): ClientHttp2Session {
  const session = connectHttp2(`http${tls === undefined ? "" : "s"}://${address}:${port}`, {
    createConnection: () =>
      tls === undefined ? connectTcp(port, address) : connectTls({ ...tlsOptions(tls), host: address, port }),
  });
  // Told by the streams.
  session.on("error", () => undefined);
  return session;
}

function tlsOptions({ alpn = [], ...rest }: NonNullable<Target["tls"]>) {
  return { ...rest, ALPNProtocols: [...alpn], rejectUnauthorized: false };
}

interface Exchanged {
  readonly status: number;
  readonly answered: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

function exchange(
  session: ClientHttp2Session,
  { timeoutMs = TIMEOUT_MS }: Target,
  { body, ...headers }: Readonly<Record<string, string>> & { readonly body: string },
): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    // Otherwise a GET is over before its body.
    const stream = session.request(headers, { endStream: false });
    const chunks: Buffer[] = [];
    let answered: Record<string, string> = {};
    const collect = (more: object) => {
      answered = { ...answered, ...(more as Record<string, string>) };
    };
    stream.on("response", collect);
    stream.on("trailers", collect);
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("close", () =>
      answered[":status"] === undefined
        ? reject(new Error("closed without an answer"))
        : resolve({ status: Number(answered[":status"]), answered, bytes: Buffer.concat(chunks) }),
    );
    stream.setTimeout(timeoutMs, () => stream.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    stream.end(Buffer.from(body, "latin1"));
  });
}

export async function grpc(request: GrpcRequest): Promise<GrpcResult> {
  const session = openSession(request);
  const frame = Buffer.concat([Buffer.alloc(5), Buffer.from(request.message)]);
  frame.writeUInt32BE(frame.length - 5, 1);
  try {
    const { status, answered, bytes } = await exchange(session, request, {
      ":method": "POST",
      ":path": "/test.Echo/Say",
      ":authority": request.host,
      "content-type": "application/grpc",
      te: "trailers",
      body: frame.toString("latin1"),
    });
    return { status, grpcStatus: answered["grpc-status"] ?? "", message: bytes.subarray(5).toString() };
  } catch (thrown) {
    return { status: 0, grpcStatus: "", message: "", error: String(thrown) };
  } finally {
    session.destroy();
  }
}

/** Opens, sends one message after the other and waits for each answer. */
export function websocket(request: WebSocketRequest): Promise<WebSocketResult> {
  const key = randomBytes(16).toString("base64");
  const messages: string[] = [];
  return new Promise((resolve) => {
    const call = requestHttp({
      host: request.address,
      port: request.port,
      path: request.path ?? "/",
      agent: false,
      timeout: request.timeoutMs ?? TIMEOUT_MS,
      headers: {
        host: request.host,
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": key,
      },
    });
    const end = (status: number, error?: string) => {
      call.destroy();
      resolve({ status, messages, ...(error !== undefined && { error }) });
    };
    call.on("error", (thrown) => end(0, thrown.message));
    call.on("timeout", () => end(0, "timed out"));
    call.on("response", (response) => end(response.statusCode ?? 0));
    call.on("upgrade", (response, socket, head) => {
      if (response.headers["sec-websocket-accept"] !== acceptKey(key)) return end(101, "wrong accept key");
      const sendNext = () => {
        const next = request.messages[messages.length];
        if (next === undefined) end(101);
        else socket.write(textFrame(next, true));
      };
      let pending: Buffer = head;
      socket.on("error", (thrown) => end(101, thrown.message));
      socket.on("data", (chunk: Buffer) => {
        const { texts, rest } = readFrames(Buffer.concat([pending, chunk]));
        pending = rest;
        for (const text of texts) {
          messages.push(text);
          sendNext();
        }
      });
      return sendNext();
    });
    call.end();
  });
}

/** Sends the text and waits for the first bytes, the peer's end or an error. */
export function tcp({ address, port, tls, send, timeoutMs = TIMEOUT_MS }: TcpRequest): Promise<TcpResult> {
  return new Promise((resolve) => {
    const socket: Socket =
      tls === undefined ? connectTcp(port, address) : connectTls({ ...tlsOptions(tls), host: address, port });
    const end = (result: TcpResult) => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(timeoutMs, () => end({ received: "", closed: false, error: "timed out" }));
    socket.on("error", (thrown) => end({ received: "", closed: true, error: thrown.message }));
    socket.on("end", () => end({ received: "", closed: true }));
    socket.on("close", () => end({ received: "", closed: true }));
    socket.on("data", (chunk: Buffer) => end({ received: chunk.toString(), closed: false }));
    socket.once(tls === undefined ? "connect" : "secureConnect", () => send !== "" && socket.write(send));
  });
}
