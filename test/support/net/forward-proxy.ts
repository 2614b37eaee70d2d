import { request as requestHttp } from "node:http";
import { startHttpServer, type TlsServerOptions } from "./http-server.ts";

export interface ForwardProxy extends AsyncDisposable {
  readonly port: number;
  readonly asked: readonly ForwardedRequest[];
}

export interface ForwardedRequest {
  /** As in the request line. */
  readonly target: string;
  readonly host: string | undefined;
  readonly login: string | undefined;
  readonly authorization: string | undefined;
}

/** An HTTP proxy for plain requests. Whatever host is meant, it is on the given port of this machine. With a key it is inside TLS. */
export async function startForwardProxy(port: number, tls?: TlsServerOptions): Promise<ForwardProxy> {
  const asked: ForwardedRequest[] = [];
  const server = await startHttpServer(
    (request, response) => {
      const { host, "proxy-authorization": login, ...headers } = request.headers;
      asked.push({ target: request.url ?? "", host, login, authorization: headers.authorization });
      if (!request.url?.startsWith("http://")) return void response.writeHead(400).end();
      const { pathname, search } = new URL(request.url);
      const options = { host: "127.0.0.1", port, path: pathname + search, method: request.method, agent: false };
      const onward = requestHttp({ ...options, headers: { ...headers, host } }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      onward.on("error", () => response.writeHead(502).end());
      request.pipe(onward);
    },
    "127.0.0.1",
    tls,
  );
  return { asked, port: server.port, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}
