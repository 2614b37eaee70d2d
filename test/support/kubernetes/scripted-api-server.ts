import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import { createServer as createTlsServer, type Server as HttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { Secret } from "../../../src/base/secret.ts";
import type { ClusterAccess } from "../../../src/kubernetes/access/cluster-access.ts";
import { makeCertificate, type TestCertificate } from "../certs/certificates.ts";

export interface ScriptedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  readonly httpVersion: string;
  /** The client's certificate is for this name. */
  readonly clientName: string | undefined;
  body(): Promise<string>;
  answer(status: number, body: unknown, headers?: Readonly<Record<string, string>>): void;
  /** The answer in pieces, for watches. */
  stream(): ScriptedStream;
}

export interface ScriptedStream {
  write(piece: string | Buffer): void;
  /** One line. */
  send(event: unknown): void;
  end(): void;
  /** Ends the connection in the middle. */
  cut(): void;
  readonly isOpen: () => boolean;
}

export interface ScriptedApiServer extends AsyncDisposable {
  readonly port: number;
  readonly access: ClusterAccess;
  readonly ca: TestCertificate | undefined;
  /** What was asked, as `GET path?query`. */
  readonly asked: string[];
  /** Ends all connections. */
  cut(): void;
}

export interface ScriptedOptions {
  /** HTTP/2 and TLS unless said otherwise. */
  readonly protocol?: "h2" | "http/1.1" | "plain";
}

/** An API server whose answers the test writes; for what a real one does not do when it is asked to. */
export async function startScriptedApiServer(
  respond: (request: ScriptedRequest) => void | Promise<void>,
  { protocol = "h2" }: ScriptedOptions = {},
): Promise<ScriptedApiServer> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    asked.push(`${incoming.method} ${incoming.url}`);
    void respond(toRequest(incoming, outgoing));
  };
  const ca = protocol === "plain" ? undefined : await makeCertificate({ commonName: "scripted" });
  const leaf = ca && (await makeCertificate({ by: ca, isCa: false, hosts: ["127.0.0.1", "kubernetes.test"] }));
  const server = ca === undefined || leaf === undefined ? createServer(handle) : startTls(protocol, ca, leaf, handle);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).once("close", () => sockets.delete(socket));
  });
  server.on("sessionError", () => undefined);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    ca,
    asked,
    cut,
    access: {
      name: "scripted",
      server: new URL(`${ca === undefined ? "http" : "https"}://127.0.0.1:${port}`),
      isInsecure: false,
      namespace: "default",
      user: {},
      ...(ca !== undefined && { ca: { text: new Secret(ca.pem) } }),
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}

function startTls(
  protocol: ScriptedOptions["protocol"],
  ca: TestCertificate,
  { pem, keyPem }: TestCertificate,
  handle: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
): HttpsServer | Http2SecureServer {
  const options = { cert: pem, key: keyPem, ca: ca.pem, requestCert: true, rejectUnauthorized: false };
  // The compatible objects of HTTP/2 have every member that is used here.
  return protocol === "h2" ? createSecureServer(options, handle as never) : createTlsServer(options, handle);
}

function toRequest(incoming: IncomingMessage, outgoing: ServerResponse): ScriptedRequest {
  const url = new URL(incoming.url ?? "/", "http://server");
  const socket = incoming.socket as Socket & { getPeerCertificate?(): { subject?: { CN?: string } } };
  return {
    method: incoming.method ?? "",
    path: url.pathname,
    query: url.searchParams,
    headers: incoming.headers,
    httpVersion: incoming.httpVersion,
    clientName: socket.getPeerCertificate?.()?.subject?.CN,
    async body() {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk);
      return Buffer.concat(chunks).toString();
    },
    answer(status, body, headers = {}) {
      outgoing.writeHead(status, { "content-type": "application/json", ...headers });
      outgoing.end(typeof body === "string" ? body : JSON.stringify(body));
    },
    stream() {
      let isOpen = true;
      outgoing.once("close", () => {
        isOpen = false;
      });
      outgoing.on("error", () => undefined);
      outgoing.writeHead(200, { "content-type": "application/json" });
      outgoing.flushHeaders?.();
      const write = (piece: string | Buffer) => void (isOpen && outgoing.write(piece));
      return {
        write,
        send: (event) => write(`${JSON.stringify(event)}\n`),
        end: () => void outgoing.end(),
        cut: () => void socket.destroy(),
        isOpen: () => isOpen,
      };
    },
  };
}
