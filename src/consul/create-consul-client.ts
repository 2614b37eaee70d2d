import { CodedError, errorMessage } from "../base/coded-error.ts";
import type { HttpTls } from "../net/http-client/exchange.ts";
import { httpRequest } from "../net/http-client/http-request.ts";
import { createKeepAliveAgent, type HttpAgent } from "../net/http-client/keep-alive-agent.ts";
import { createTlsKeepAliveAgent } from "../net/http-client/tls-keep-alive-agent.ts";

export interface ConsulClientOptions {
  /** `http://host:8500`, or `https://` with `tls`. */
  readonly url: string;
  /** ACL token; asked before each request, so that a changed file counts. */
  token?(): Promise<string | undefined>;
  /** Asked before each request as well; other material means a new connection. */
  tls?(): Promise<HttpTls>;
  /** The agent's own when absent. */
  readonly datacenter?: string;
  /** Of servers that have namespaces; `*` for all of them. */
  readonly namespace?: string;
}

export interface ConsulAnswer {
  readonly body: unknown;
  /** 0 when the answer has none. */
  readonly index: number;
  /** Of its text. */
  readonly length: number;
}

export interface ConsulQuery {
  readonly index?: number;
  readonly waitMs?: number;
  readonly signal: AbortSignal;
  /** What an absent key or service reads as; without it 404 rejects. */
  readonly whenAbsent?: unknown;
}

export interface ConsulClient {
  readonly datacenter: string | undefined;
  /** Rejects with a ConsulError. */
  get(path: string, query: ConsulQuery): Promise<ConsulAnswer>;
  close(): void;
}

/** `denied`: the ACL token lacks a right. `refused`: any other answer than 200. */
export class ConsulError extends CodedError<"unreachable" | "denied" | "refused" | "malformed"> {}

const IDLE_MS = 60_000;
const ASK_MS = 30_000;
/** The catalog of 5,000 services and their checks is about 40 MB. */
const MAX_BYTES = 256 * 1024 * 1024;

export function createConsulClient(options: ConsulClientOptions): ConsulClient {
  const { url, datacenter, namespace } = options;
  const base = new URL(url);
  const pool: HttpAgent = base.protocol === "https:" ? createTlsKeepAliveAgent(IDLE_MS) : createKeepAliveAgent(IDLE_MS);
  const ask = async (path: string, { index = 0, waitMs = 0, signal }: ConsulQuery) => {
    const target = new URL(path, base);
    if (datacenter !== undefined) target.searchParams.set("dc", datacenter);
    if (namespace !== undefined) target.searchParams.set("ns", namespace);
    if (index > 0) {
      target.searchParams.set("index", String(index));
      target.searchParams.set("wait", `${waitMs}ms`);
    }
    try {
      const [token, tls] = await Promise.all([options.token?.(), options.tls?.()]);
      return await httpRequest({
        url: target,
        headers: { accept: "application/json", ...(token !== undefined && { "x-consul-token": token }) },
        // Consul answers up to a sixteenth of the wait later than asked.
        timeoutMs: ASK_MS + waitMs * (1 + 1 / 16),
        maxBytes: MAX_BYTES,
        agent: pool,
        tls,
        signal,
      });
    } catch (thrown) {
      throw new ConsulError("unreachable", `Consul at ${base.host}: ${errorMessage(thrown)}`, { cause: thrown });
    }
  };
  return {
    datacenter,
    close: () => pool.destroy(),
    get: async (path, query) => {
      const { status, headers, body } = await ask(path, query);
      const index = Number(headers["x-consul-index"] ?? 0) || 0;
      if (status === 404 && "whenAbsent" in query) return { body: query.whenAbsent, index, length: body.length };
      if (status !== 200) {
        const reason = body.trim().slice(0, 300) || "no reason given";
        throw new ConsulError(status === 403 ? "denied" : "refused", `Consul answers ${status} to ${path}: ${reason}`);
      }
      try {
        return { body: JSON.parse(body) as unknown, index, length: body.length };
      } catch (cause) {
        throw new ConsulError("malformed", `Consul's answer to ${path} is not JSON: ${errorMessage(cause)}`, { cause });
      }
    },
  };
}
