import type { IncomingMessage } from "node:http";
import { startHttpServer, type TestHttpServer } from "../net/http-server.ts";

export interface GoogleCall {
  readonly step: "federated" | "access";
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface FakeGoogle extends AsyncDisposable {
  readonly url: string;
  readonly calls: readonly GoogleCall[];
  count(step: GoogleCall["step"]): number;
  /** What the next calls of the step are answered with; the last one stays. */
  answer(step: GoogleCall["step"], ...answers: readonly GoogleAnswer[]): void;
}

export interface GoogleAnswer {
  readonly status?: number;
  readonly body?: object | string;
  /** The connection is cut instead. */
  readonly cut?: boolean;
  /** Answered when it resolves. */
  readonly after?: Promise<void>;
}

/** Google's token service and IAM credentials on one loopback port. */
export async function startFakeGoogle(lifetimeSeconds = 3600): Promise<FakeGoogle> {
  const calls: GoogleCall[] = [];
  const expireTime = () => new Date(Date.now() + lifetimeSeconds * 1000).toISOString();
  const answers: Record<GoogleCall["step"], GoogleAnswer[]> = {
    federated: [{ body: { access_token: "federated-token", token_type: "Bearer", expires_in: 3600 } }],
    access: [],
  };
  const http: TestHttpServer = await startHttpServer(async (request, response) => {
    const step = request.url === "/v1/token" ? "federated" : "access";
    const { authorization } = request.headers;
    calls.push({ step, path: request.url ?? "", authorization, body: await readJson(request) });
    const queue = answers[step];
    const answer: GoogleAnswer = (queue.length > 1 ? queue.shift() : queue[0]) ?? {
      body: { accessToken: `access-token-${calls.length}`, expireTime: expireTime() },
    };
    await answer.after;
    if (answer.cut) return void request.socket.destroy();
    const body = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body ?? {});
    response.writeHead(answer.status ?? 200, { "content-type": "application/json" }).end(body);
  });
  return {
    url: http.url,
    calls,
    count: (step) => calls.filter((call) => call.step === step).length,
    answer: (step, ...next) => {
      answers[step] = [...next];
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString("utf8")) as Record<string, unknown>;
}
