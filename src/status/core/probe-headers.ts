import type { HttpHeader } from "./app-probers.ts";

/** Belongs to the kubelet's connection, or is written by the agent. */
const NOT_FORWARDED = new Set([
  "host",
  "connection",
  "keep-alive",
  "proxy-connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
  "te",
  "trailer",
]);

/** Set the host instead of being headers. */
const HOST_NAME = /^(?:host|:authority)$/i;

export interface ForwardedHeaders {
  /** Names and values by turns, in their order and letter case. */
  readonly list: readonly string[];
  /** The agent itself accepts a compressed body and has to decompress it. */
  readonly decompresses: boolean;
}

/** The kubelet's headers, which it took from the probe, and behind them those that are `configured`. */
export function forwardedHeaders(raw: readonly string[], configured: readonly HttpHeader[]): ForwardedHeaders {
  const list: string[] = [];
  let decompresses = true;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? "";
    const lower = name.toLowerCase();
    if (lower === "accept-encoding") decompresses = false;
    if (!NOT_FORWARDED.has(lower)) list.push(name, raw[index + 1] ?? "");
  }
  for (const { name, value } of configured) {
    if (!HOST_NAME.test(name)) list.push(name, value);
  }
  if (decompresses) list.push("Accept-Encoding", "gzip");
  return { list, decompresses };
}

/** The host that a probe's own headers ask for. */
export function configuredHost(configured: readonly HttpHeader[]): string | undefined {
  return configured.findLast(({ name }) => HOST_NAME.test(name))?.value;
}

/** The kubelet names the status port where its probe meant the application's; any other Host was asked for and stays. */
export function probeHost(
  raw: readonly string[],
  ports: { readonly statusPort: number; readonly probePort: number },
): string | undefined {
  const index = raw.findIndex((name, at) => at % 2 === 0 && name.toLowerCase() === "host");
  const host = index < 0 ? undefined : raw[index + 1];
  if (host === undefined || host === "") return undefined;
  const suffix = `:${ports.statusPort}`;
  return host.endsWith(suffix) && host.length > suffix.length
    ? `${host.slice(0, -suffix.length)}:${ports.probePort}`
    : host;
}
