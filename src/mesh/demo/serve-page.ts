import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { errorMessage } from "../../base/coded-error.ts";
import type { DemoAppOptions } from "./demo-options.ts";

/** An HTTP server whose every answer is a JSON page; runs until the signal. */
export async function servePage(options: DemoAppOptions, page: () => Promise<object>): Promise<void> {
  const { env, signal, print } = options;
  const server = createServer((request, response) => {
    answer(request, response, page).catch((thrown: unknown) => {
      print(errorMessage(thrown));
      response.writeHead(500).end();
    });
  });
  // Envoy keeps its connections for an hour; a server that closes them first would race with a request.
  server.keepAliveTimeout = 2 * 3600 * 1000;
  await new Promise<void>((ready, refused) => {
    server.once("error", refused);
    server.listen(Number(env.PORT), env.HOST, ready);
  });
  print(`listening on ${env.HOST}:${env.PORT}`);
  await untilAborted(signal);
  await new Promise<void>((closed) => {
    server.close(() => closed());
    server.closeAllConnections();
  });
}

async function answer(request: IncomingMessage, response: ServerResponse, page: () => Promise<object>): Promise<void> {
  // Who calls, as the sidecar read it from the caller's certificate.
  const caller = /URI=([^;,]+)/.exec(String(request.headers["x-forwarded-client-cert"] ?? ""))?.[1];
  const body = { ...(await page()), ...(caller === undefined ? {} : { caller }) };
  response.writeHead(200, { "content-type": "application/json" }).end(`${JSON.stringify(body)}\n`);
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
