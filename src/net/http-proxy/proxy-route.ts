import type { Duplex } from "node:stream";
import type { Dial } from "../dial.ts";
import { type HostPort, splitHostPort } from "../host-port.ts";
import { isIP, isLoopback, parseIp } from "../ip.ts";
import { type IpPrefix, isInPrefixes, parsePrefix, parsePrefixOrIp } from "../ip-prefix.ts";

/** The environment's proxies: URLs whose scheme is optional; "" for none. */
export interface ProxySettings {
  /** HTTP_PROXY, for plain http. */
  readonly httpProxy: string;
  /** HTTPS_PROXY, for https and for other TLS connections. */
  readonly httpsProxy: string;
  readonly noProxy: string;
}

/** How a request travels that does not go straight to its host. */
export type ProxyRoute =
  /** Through a proxy that passes bytes on; for https, whose TLS then is with the host itself. */
  | { readonly kind: "tunnel"; readonly dial: Dial }
  /** To a proxy that makes the request itself; for plain http. */
  | { readonly kind: "forward"; readonly proxy: ProxyAddress };

/** As Go programs choose: HTTPS_PROXY tunnels https, HTTP_PROXY makes plain requests itself. Undefined: directly. */
export function proxyRoute(url: URL, settings: ProxySettings): ProxyRoute | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (url.protocol === "http:") {
    if (settings.httpProxy === "" || bypassesProxy({ host, port: Number(url.port || 80) }, settings.noProxy))
      return undefined;
    return { kind: "forward", proxy: parseProxy(settings.httpProxy, "HTTP_PROXY") };
  }
  const dial = connectThroughProxy(`${url.hostname}:${url.port || "443"}`, settings);
  return dial && { kind: "tunnel", dial };
}

/** The way to `address` (host:port) through the proxy of HTTPS_PROXY; undefined when it goes there directly. */
export function connectThroughProxy(
  address: string,
  { httpsProxy, noProxy }: Pick<ProxySettings, "httpsProxy" | "noProxy">,
): Dial | undefined {
  if (httpsProxy === "" || address.startsWith("unix:")) return undefined;
  const target = splitHostPort(address);
  if ("problem" in target || bypassesProxy({ host: target.host, port: Number(target.port) }, noProxy)) return undefined;
  const proxy = parseProxy(httpsProxy, "HTTPS_PROXY");
  return (signal) => connectTunnel(proxy, address, signal);
}

/**
 * A byte stream to `target` (host:port) through an HTTP proxy (CONNECT, RFC 9110 section 9.3.6). The name is not resolved here: the proxy
 * may be the only one that can.
 */
async function connectTunnel(proxy: ProxyAddress, target: string, signal: AbortSignal): Promise<Duplex> {
  const { request } = await import("node:http");
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: proxy.host,
      port: proxy.port,
      method: "CONNECT",
      path: target,
      headers: { host: target, "user-agent": "pilot-agent", ...proxy.headers },
      agent: false,
      signal,
    });
    outgoing.once("connect", (response, socket, head) => {
      if (response.statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        return resolve(socket);
      }
      socket.destroy();
      reject(new Error(`the HTTPS proxy ${proxy.shown} refused: ${response.statusCode} ${response.statusMessage}`));
    });
    // A proxy that answers with a body instead of opening the tunnel.
    outgoing.once("response", (response) => {
      response.destroy();
      reject(new Error(`the HTTPS proxy ${proxy.shown} refused: ${response.statusCode} ${response.statusMessage}`));
    });
    outgoing.once("error", (cause) => reject(new Error(`the HTTPS proxy ${proxy.shown}: ${cause.message}`, { cause })));
    outgoing.end();
  });
}

/** An HTTP proxy, as the environment names it. */
interface ProxyAddress {
  readonly host: string;
  readonly port: number;
  /** For logs and errors: without user and password. */
  readonly shown: string;
  /** The login, when there is one. */
  readonly headers: Readonly<Record<string, string>>;
}

/** `[http://][user:password@]host[:port]`. The variable is for the error. */
function parseProxy(text: string, variable: string): ProxyAddress {
  const url = text.includes("://") ? text : `http://${text}`;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || parsed.protocol !== "http:" || parsed.hostname === "") throw invalidProxy(variable);
  const port = parsed.port === "" ? 80 : Number(parsed.port);
  const host = parsed.hostname.replace(/^\[|\]$/g, "");
  const login = `${unescaped(parsed.username, variable)}:${unescaped(parsed.password, variable)}`;
  const credentials = Buffer.from(login).toString("base64");
  const headers = login === ":" ? {} : { "proxy-authorization": `Basic ${credentials}` };
  return { host, port, shown: `${host}:${port}`, headers };
}

function unescaped(text: string, variable: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidProxy(variable, "; a % in user or password is written %25");
  }
}

/** Without the value: it may hold a password. */
function invalidProxy(variable: string, hint = ""): Error {
  return new Error(
    `${variable} is no http:// address of a proxy; allowed is [http://][user:password@]host[:port]${hint}`,
  );
}

/**
 * Whether a target is reached without the proxy, by the rules that Go programs follow: this machine always, and what NO_PROXY lists.
 * An entry is `*`, an address, a CIDR, `name` (with its subdomains) or `.name` (its subdomains only), each but the CIDR with an
 * optional `:port`. Entries that are none of these match nothing.
 */
export function bypassesProxy({ host, port }: HostPort, noProxy: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, "");
  if (name === "localhost" || isLoopback(name)) return true;
  return noProxy.split(",").some((entry) => matches(entry.trim().toLowerCase(), name, port));
}

function matches(entry: string, host: string, port: number): boolean {
  if (entry === "") return false;
  if (entry === "*") return true;
  if (entry.includes("/")) return isInRange(parsePrefix(entry), host);
  const [, bracketed, plain, portText] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(entry) ?? [];
  const name = bracketed ?? plain ?? (isIP(entry) === 6 ? entry : undefined);
  if (name === undefined || (portText !== undefined && Number(portText) !== port)) return false;
  if (isIP(name) !== 0 || isIP(host) !== 0) return isInRange(parsePrefixOrIp(name), host);
  const suffix = name.replace(/^\*(?=\.)/, "");
  if (suffix.startsWith(".")) return host.endsWith(suffix);
  return host === suffix || host.endsWith(`.${suffix}`);
}

function isInRange(range: IpPrefix | undefined, host: string): boolean {
  const ip = parseIp(host);
  return range !== undefined && ip !== undefined && isInPrefixes([range], ip);
}
