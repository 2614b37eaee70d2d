import { errorMessage } from "../base/coded-error.ts";
import { dialFailureText } from "../net/http-client/dial-failure.ts";
import { HttpError } from "../net/http-client/http-error.ts";
import { httpRequest } from "../net/http-client/http-request.ts";
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
export async function adminRequest(
  target: AdminCall,
  { timeoutMs, maxBytes, signal }: CallLimits,
): Promise<AdminAnswer> {
  const { authority, method, path } = target;
  try {
    // One connection per call: Envoy closes the admin at will across hot restarts, and a pooled socket would fail late.
    return await httpRequest({ url: `http://${authority}`, target: path, method, timeoutMs, maxBytes, signal });
  } catch (thrown) {
    throw toAdminError(thrown, target, { timeoutMs, maxBytes });
  }
}

type CallLimits = Required<Omit<AdminLimits, "signal">> & AdminLimits;

/** Words the failure as the reference does, so that log searches keep working. */
function toAdminError(
  thrown: unknown,
  target: AdminCall,
  { timeoutMs, maxBytes }: Pick<CallLimits, "timeoutMs" | "maxBytes">,
): AdminError {
  const fail = (code: AdminError["code"], reason: string) =>
    new AdminError(code, `${describe(target)}: ${reason}`, { cause: thrown });
  if (!(thrown instanceof HttpError)) return fail("unreachable", errorMessage(thrown));
  if (thrown.code === "timeout") return fail("timeout", `no answer within ${timeoutMs} ms`);
  if (thrown.code === "too-large") return fail("too-large", `answer exceeds ${maxBytes} bytes`);
  return fail("unreachable", dialFailureText(thrown.dial) ?? thrown.reason);
}

function describe({ authority, method, path }: AdminCall): string {
  return `${method === "POST" ? "Post" : "Get"} ${JSON.stringify(`http://${authority}${path}`)}`;
}
