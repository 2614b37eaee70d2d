import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

export interface TestHttpServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
}

/** A real HTTP server on a free loopback port, gone with the block that uses it. */
export async function startHttpServer(listener: RequestListener, host = "127.0.0.1"): Promise<TestHttpServer> {
  const server = createServer(listener);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://localhost:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
