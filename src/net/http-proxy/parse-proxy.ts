/** An HTTP proxy, as the environment names it. */
export interface ProxyAddress {
  readonly host: string;
  readonly port: number;
  /** For logs and errors: without user and password. */
  readonly shown: string;
  /** The login, when there is one. */
  readonly headers: Readonly<Record<string, string>>;
}

/** `[http://][user:password@]host[:port]`. The variable is for the error. */
export function parseProxy(text: string, variable: string): ProxyAddress {
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
