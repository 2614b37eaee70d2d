import { errorMessage } from "../../base/coded-error.ts";
import { silentLogger } from "../../base/logger.ts";
import { untilAborted } from "../../base/wait.ts";
import { startHttpServer } from "../../net/http-server/start-http-server.ts";
import { wantsPage } from "./front-page.ts";

export interface DemoAppOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  print(line: string): void;
}

/** Limit of one call between applications of the demo. */
export const CALL_MS = 3000;

/** Envoy keeps its connections for an hour; a server that closes them first would race with a request. */
const KEEP_ALIVE_MS = 2 * 3600 * 1000;

/** An HTTP server whose every answer is a JSON page, or HTML where a browser asks for it; runs until the signal. */
export async function servePage<Page extends object>(
  options: DemoAppOptions,
  page: () => Promise<Page>,
  toHtml?: (page: Page) => string,
): Promise<void> {
  const { env, signal, print } = options;
  const { HOST: host = "", PORT: port } = env;
  await using _server = await startHttpServer({
    listen: [{ host, port: Number(port) }],
    handler: async ({ headers }) => {
      // Who calls, as the sidecar read it from the caller's certificate.
      const caller = /URI=([^;,]+)/.exec(headers["x-forwarded-client-cert"] ?? "")?.[1];
      const answer = await page();
      if (toHtml !== undefined && wantsPage(headers.accept))
        return {
          status: 200,
          contentType: "text/html; charset=utf-8",
          headers: { Vary: "Accept" },
          body: toHtml(answer),
        };
      const body = { ...answer, ...(caller === undefined ? {} : { caller }) };
      return { status: 200, contentType: "application/json", body: `${JSON.stringify(body)}\n` };
    },
    onFailure: (thrown) => {
      print(errorMessage(thrown));
      return { status: 500 };
    },
    limits: { keepAliveMs: KEEP_ALIVE_MS },
    log: silentLogger,
  });
  print(`listening on ${host}:${port}`);
  await untilAborted(signal);
}
