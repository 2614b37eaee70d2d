import type { SimulatedCall } from "../../simulate/index.ts";

type Target = Pick<SimulatedCall, "host" | "port" | "speaks" | "isTls" | "path">;

const SCHEMES = {
  http: { port: 80, isTls: false, isHttp: true },
  https: { port: 443, isTls: true, isHttp: true },
  tcp: { port: 0, isTls: false, isHttp: false },
  tls: { port: 443, isTls: true, isHttp: false },
} as const;

/** What is called, from `http://host:port/path`; a text says what is wrong. The path stays as it is written. */
export function parseTarget(text: string, isHttp2: boolean): Target | string {
  const [, name = "", bracketed, plain, digits, path = ""] =
    /^([a-z]+):\/\/(?:\[([0-9a-fA-F:.]+)\]|([^/:?#[\]@]+))(?::(\d{1,5}))?([/?].*)?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const allowed = `expected ${Object.keys(SCHEMES).join("://, ")}://HOST[:PORT][/PATH]`;
  if (host === undefined || !Object.hasOwn(SCHEMES, name)) return `--to is ${JSON.stringify(text)}, ${allowed}`;
  const scheme = SCHEMES[name as keyof typeof SCHEMES];
  const port = digits === undefined ? scheme.port : Number(digits);
  if (port < 1 || port > 65535) return `--to is ${JSON.stringify(text)}, it needs a port from 1 to 65535`;
  if (!scheme.isHttp && path !== "") return `--to is ${JSON.stringify(text)}, a connection has no path`;
  const speaks = scheme.isHttp ? (isHttp2 ? "http2" : "http1") : "bytes";
  return { host, port, speaks, isTls: scheme.isTls, path: path.startsWith("/") ? path : `/${path}` };
}
