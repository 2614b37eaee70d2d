import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";

export interface TlsServerOptions {
  readonly cert: string;
  readonly key: string;
}

export interface TestHttpServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
}

/** A real HTTP server on a free loopback port, gone with the block that uses it; with a key it speaks https. */
export async function startHttpServer(
  listener: RequestListener,
  host = "127.0.0.1",
  tls?: TlsServerOptions,
): Promise<TestHttpServer> {
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  // A proxy that uses an idle connection again at the moment in which it is closed answers 503.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `${tls === undefined ? "http" : "https"}://localhost:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
