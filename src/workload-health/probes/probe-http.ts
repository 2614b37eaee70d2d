import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { joinHostPort, unbracketHost } from "../../net/host-port.ts";
import { dialFailureText } from "../../net/http-client/dial-failure.ts";
import type { HttpConnection } from "../../net/http-client/exchange.ts";
import { HttpError } from "../../net/http-client/http-error.ts";
import { openHttp } from "../../net/http-client/http-request.ts";
import { isIP } from "../../net/ip.ts";
import type { ProbeMethod } from "../core/health-config.ts";
import type { ProbeResult } from "../core/health-state.ts";

export interface HttpSource {
  /** Source address for targets on this machine, which the captured traffic rules let through. */
  readonly localAddress: string | undefined;
  isOwnAddress(host: string): boolean;
}

/** The eleventh is not sent. */
const MAX_REQUESTS = 10;

/** GET on a connection of its own; 200 to 399 is healthy. Redirects are followed to wherever they lead. */
export async function probeHttp(
  method: Extract<ProbeMethod, { kind: "http" }>,
  source: HttpSource,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const first = `${method.isTls ? "https" : "http"}://${joinHostPort(method.host, method.port)}${method.path}`;
  if (!URL.canParse(first)) return { healthy: false, message: `parse ${JSON.stringify(first)}: invalid URL` };
  const named = method.headers.find(({ name }) => name === "Host")?.value;
  try {
    const response = await openHttp({
      url: first,
      signal,
      tls: { rejectUnauthorized: false },
      // A location that is not a URL is left alone: the status counts.
      redirects: { maxRequests: MAX_REQUESTS, allows: ({ to }) => to !== undefined },
      forHop: (url, by) => ({
        headers: rawHeaders(method, by === undefined ? (named ?? url.host) : url.host),
        ...sourceOf(url, source),
      }),
    });
    response.discard();
    const { status } = response;
    if (status >= 200 && status < 400) return { healthy: true };
    return { healthy: false, message: `status code was not from [200,400), bad code ${status}` };
  } catch (thrown) {
    return { healthy: false, message: `Get ${JSON.stringify(first)}: ${failure(thrown)}` };
  }
}

/** With a loopback source address no connection leaves the machine, and none reaches an address of the other family. */
function sourceOf(url: URL, source: HttpSource): HttpConnection {
  const { localAddress = "" } = source;
  const host = unbracketHost(url.hostname);
  const family = isIP(host) || isIP(localAddress);
  const isLocal = localAddress !== "" && source.isOwnAddress(host) && isIP(localAddress) === family;
  return isLocal ? { localAddress, family } : {};
}

function rawHeaders({ headers }: Extract<ProbeMethod, { kind: "http" }>, host: string): string[] {
  const list = ["Host", host];
  for (const { name, value } of headers) if (name !== "Host") list.push(name, value);
  if (!headers.some(({ name }) => name === "User-Agent")) list.push("User-Agent", "istio-probe/1.0");
  return [...list, "Accept-Encoding", "gzip", "Connection", "close"];
}

function failure(thrown: unknown): string {
  if (!(thrown instanceof HttpError)) return errorMessage(thrown);
  const { code, cause, reason, url, dial } = thrown;
  if (code === "cancelled") return "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
  if (code === "upgraded") return "EOF";
  if (errorCode(cause) === "ECONNRESET") return reason === "socket hang up" ? "EOF" : reason;
  if (errorCode(cause) === "EPROTO") return tlsFailure(reason);
  return dialFailureText(dial, url?.host) ?? reason;
}

/** Of OpenSSL's line only the reason: what stands before it is another number at every look. */
function tlsFailure(text: string): string {
  if (text.includes("wrong version number")) return "http: server gave HTTP response to HTTPS client";
  const [, reason] = /:SSL routines:[^:]*:([^:]+):/.exec(text) ?? [];
  return reason === undefined ? text : `tls: ${reason}`;
}
