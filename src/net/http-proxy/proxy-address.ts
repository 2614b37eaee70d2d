import type { SecureContext } from "node:tls";

/** The roots of TLS with an https:// proxy; the public ones when absent. */
export type ProxyRoots = () => SecureContext;

/** A proxy, as the environment names it. */
export interface ProxyAddress {
  /** What is spoken to it: HTTP, HTTP inside TLS, or SOCKS 5. */
  readonly scheme: "http" | "https" | "socks5";
  readonly host: string;
  readonly port: number;
  /** For logs and errors: without user and password. */
  readonly shown: string;
  readonly login: { readonly user: string; readonly password: string } | undefined;
}

const SCHEMES: Readonly<Record<string, { readonly scheme: ProxyAddress["scheme"]; readonly port: number }>> = {
  "http:": { scheme: "http", port: 80 },
  "https:": { scheme: "https", port: 443 },
  "socks5:": { scheme: "socks5", port: 1080 },
  // The h says that the proxy resolves names, which it always does here.
  "socks5h:": { scheme: "socks5", port: 1080 },
};

/** RFC 1929 has one byte for the length of each. */
const MAX_SOCKS_LOGIN_BYTES = 255;

/** `[scheme://][user:password@]host[:port]`, http:// without a scheme. The variable is for the error, which never has the value. */
export function parseProxy(text: string, variable: string): ProxyAddress {
  const url = text.includes("://") ? text : `http://${text}`;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const kind = parsed && SCHEMES[parsed.protocol];
  if (parsed === undefined || kind === undefined || parsed.hostname === "") throw invalidProxy(variable);
  const host = parsed.hostname.replace(/^\[|\]$/g, "");
  const port = parsed.port === "" ? kind.port : Number(parsed.port);
  const user = unescaped(parsed.username, variable);
  const password = unescaped(parsed.password, variable);
  const login = user === "" && password === "" ? undefined : { user, password };
  if (kind.scheme === "socks5" && login !== undefined) checkSocksLogin(login, variable);
  return { scheme: kind.scheme, host, port, shown: `${host}:${port}`, login };
}

/** The header that an HTTP proxy wants for a login. */
export function proxyHeaders({ login }: ProxyAddress): Readonly<Record<string, string>> {
  if (login === undefined) return {};
  return { "proxy-authorization": `Basic ${Buffer.from(`${login.user}:${login.password}`).toString("base64")}` };
}

function checkSocksLogin({ user, password }: { user: string; password: string }, variable: string): void {
  const isAllowed = user !== "" && [user, password].every((part) => Buffer.byteLength(part) <= MAX_SOCKS_LOGIN_BYTES);
  if (isAllowed) return;
  throw new Error(
    `the user of ${variable} for SOCKS has 1 to ${MAX_SOCKS_LOGIN_BYTES} bytes, the password at most ${MAX_SOCKS_LOGIN_BYTES}`,
  );
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
    `${variable} is not the address of a proxy; allowed is [http://|https://|socks5://][user:password@]host[:port]${hint}`,
  );
}
