import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import { joinHostPort } from "../../net/host-port.ts";
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
  let url = new URL(first);
  const named = method.headers.find(({ name }) => name === "Host")?.value;
  try {
    for (let hops = 0; ; hops++) {
      const answer = await ask(url, {
        headers: rawHeaders(method, hops === 0 ? (named ?? url.host) : url.host),
        source,
        signal,
      });
      const status = answer.statusCode ?? 0;
      const { location } = answer.headers;
      const isRedirect = [301, 302, 303, 307, 308].includes(status) && location !== undefined;
      answer.destroy();
      if (isRedirect && URL.canParse(location, url.href)) {
        if (hops === MAX_REQUESTS - 1) throw new Error(`stopped after ${MAX_REQUESTS} redirects`);
        url = new URL(location, url);
        if (!/^https?:$/.test(url.protocol))
          throw new Error(`unsupported protocol scheme ${JSON.stringify(url.protocol.slice(0, -1))}`);
      } else if (status >= 200 && status < 400) return { healthy: true };
      else return { healthy: false, message: `status code was not from [200,400), bad code ${status}` };
    }
  } catch (thrown) {
    return { healthy: false, message: `Get ${JSON.stringify(first)}: ${failure(thrown, url)}` };
  }
}

function ask(
  url: URL,
  {
    headers,
    source,
    signal,
  }: { readonly headers: readonly string[]; readonly source: HttpSource; readonly signal: AbortSignal },
): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const { localAddress = "" } = source;
  const family = isIP(host) || isIP(localAddress);
  // With a loopback source address no connection leaves the machine, and none reaches an address of the other family.
  const isLocal = localAddress !== "" && source.isOwnAddress(host) && isIP(localAddress) === family;
  return new Promise((resolve, reject) => {
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const outgoing = send({
      host,
      port: url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port),
      method: "GET",
      path: url.pathname + url.search,
      headers: [...headers],
      agent: false,
      rejectUnauthorized: false,
      signal,
      ...(isLocal && { localAddress, family }),
    });
    outgoing.on("error", reject);
    // The only event where the workload switches to another protocol.
    outgoing.on("close", () => reject(new Error("EOF")));
    outgoing.on("response", (answer) => {
      answer.on("error", () => undefined);
      resolve(answer);
    });
    outgoing.end();
  });
}

function rawHeaders({ headers }: Extract<ProbeMethod, { kind: "http" }>, host: string): string[] {
  const list = ["Host", host];
  for (const { name, value } of headers) if (name !== "Host") list.push(name, value);
  if (!headers.some(({ name }) => name === "User-Agent")) list.push("User-Agent", "istio-probe/1.0");
  return [...list, "Accept-Encoding", "gzip", "Connection", "close"];
}

function failure(thrown: unknown, url: URL): string {
  const text = errorMessage(thrown);
  switch (errorCode(thrown)) {
    case "ECONNREFUSED":
      return `dial tcp ${url.host}: connect: connection refused`;
    case "ABORT_ERR":
      return "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
    case "ENOTFOUND":
      return `dial tcp: lookup ${url.hostname}: no such host`;
    case "ECONNRESET":
      return text === "socket hang up" ? "EOF" : text;
    case "EPROTO":
      return tlsFailure(text);
    default:
      return text;
  }
}

/** Of OpenSSL's line only the reason: what stands before it is another number at every look. */
function tlsFailure(text: string): string {
  if (text.includes("wrong version number")) return "http: server gave HTTP response to HTTPS client";
  const [, reason] = /:SSL routines:[^:]*:([^:]+):/.exec(text) ?? [];
  return reason === undefined ? text : `tls: ${reason}`;
}
