import { errorMessage } from "../base/coded-error.ts";
import { unbracketHost } from "../net/host-port.ts";
import { dialFailureOf, dialFailureText } from "../net/http-client/dial-failure.ts";
import { HttpError } from "../net/http-client/http-error.ts";
import { httpRequest } from "../net/http-client/http-request.ts";
import { createKeptConnection } from "../net/http1/kept-connection.ts";
import { Http1Error } from "../net/http1/request-http1.ts";
import { AdminError } from "./errors.ts";

export interface AdminLimits {
  readonly timeoutMs?: number;
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

export interface AdminAnswer {
  readonly status: number;
  readonly body: string;
}

export interface AdminCall {
  readonly authority: string;
  readonly method: "GET" | "POST";
  readonly path: string;
}

/** One call, on a connection of its own. Rejects with an `AdminError`. */
export async function adminRequest(target: AdminCall, limits: CallLimits): Promise<AdminAnswer> {
  const { authority, method, path } = target;
  try {
    // One connection per call: Envoy closes the admin at will across hot restarts, and a pooled socket would fail late.
    if (method === "GET") return await getOnce(authority, path, limits);
    return await httpRequest({ url: `http://${authority}`, target: path, method, ...limits });
  } catch (thrown) {
    throw toAdminError(thrown, target, limits);
  }
}

type CallLimits = Required<Omit<AdminLimits, "signal">> & AdminLimits;

/** Probes ask every few seconds for as long as the agent lives: node's own client takes twice the processor time (bench/console). */
async function getOnce(authority: string, path: string, limits: CallLimits): Promise<AdminAnswer> {
  const { hostname, port } = new URL(`http://${authority}`);
  const address = { host: unbracketHost(hostname), port: Number(port) };
  const connection = createKeptConnection({ address: () => address, idleMs: limits.timeoutMs });
  const { signal } = limits;
  signal?.addEventListener("abort", connection.close, { once: true });
  try {
    return await connection.ask("GET", path, limits);
  } finally {
    signal?.removeEventListener("abort", connection.close);
    connection.close();
  }
}

/** Words the failure as the reference does, so that log searches keep working. */
function toAdminError(thrown: unknown, target: AdminCall, { timeoutMs, maxBytes }: CallLimits): AdminError {
  const fail = (code: AdminError["code"], reason: string) =>
    new AdminError(code, `${describe(target)}: ${reason}`, { cause: thrown });
  const code = thrown instanceof HttpError || thrown instanceof Http1Error ? thrown.code : undefined;
  if (code === "timeout") return fail("timeout", `no answer within ${timeoutMs} ms`);
  if (code === "too-large") return fail("too-large", `answer exceeds ${maxBytes} bytes`);
  const dial = thrown instanceof HttpError ? thrown.dial : dialFailureOf(thrown);
  return fail(
    "unreachable",
    dialFailureText(dial) ?? (thrown instanceof HttpError ? thrown.reason : errorMessage(thrown)),
  );
}

function describe({ authority, method, path }: AdminCall): string {
  return `${method === "POST" ? "Post" : "Get"} ${JSON.stringify(`http://${authority}${path}`)}`;
}
