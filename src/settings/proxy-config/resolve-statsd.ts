import { abortAfter } from "../../base/abort-after.ts";
import { errorCode, errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { joinHostPort, parsePort, splitHostPort } from "../../net/host-port.ts";
import { isIPv4 } from "../../net/ip.ts";

/** All addresses of a host name or IP literal. */
export type LookupHost = (host: string) => Promise<readonly string[]>;

const LIMIT_MS = 15_000;

export const systemLookup: LookupHost = async (host) => {
  const { lookup } = await import("node:dns/promises");
  return (await lookup(host, { all: true, order: "verbatim" })).map(({ address }) => address);
};

/**
 * The statsd address with its host resolved: the first IPv4 answer, else the last IPv6. Envoy needs a literal address there. A failure
 * warns and gives "", which turns statsd off.
 */
export async function resolveStatsd(
  address: string,
  lookupHost: LookupHost,
  log: Logger,
  { limitMs = LIMIT_MS, signal }: { readonly limitMs?: number; readonly signal?: AbortSignal | undefined } = {},
): Promise<string> {
  if (address === "") return "";
  const split = splitHostPort(address);
  if ("problem" in split) return failed(log, split.problem);
  const { host, port } = split;
  if (port === "") return "";
  // The reference clears these without a word; zero it leaves to the validation.
  if (parsePort(port) === undefined) return failed(log, `address ${address}: invalid port`);
  log.info(`Attempting to lookup address: ${host}`);
  try {
    const answers = await withLimit(lookupHost(host), limitMs, signal);
    const chosen = answers.find((answer) => isIPv4(answer)) ?? answers.at(-1);
    if (chosen === undefined) return failed(log, `lookup failed for IP address: lookup ${host}: no such host`);
    const resolved = joinHostPort(chosen, port);
    log.info(`Addr resolved to: ${resolved}`);
    return resolved;
  } catch (thrown) {
    const reason = errorCode(thrown) === "ENOTFOUND" ? "no such host" : errorMessage(thrown);
    return failed(log, `lookup failed for IP address: lookup ${host}: ${reason}`);
  } finally {
    log.info(`Finished lookup of address: ${host}`);
  }
}

function failed(log: Logger, reason: string): "" {
  log.warn(`resolve StatsdUdpAddress failed: ${reason}`);
  return "";
}

/** A lookup cannot be ended, but it need not be waited for. */
async function withLimit<Value>(work: Promise<Value>, limitMs: number, signal?: AbortSignal): Promise<Value> {
  using limit = abortAfter(limitMs, signal);
  const over = new Promise<never>((_, reject) => {
    const end = () => reject(new Error(limit.expired ? "i/o timeout" : "operation was canceled"));
    if (limit.signal.aborted) end();
    else limit.signal.addEventListener("abort", end, { once: true });
  });
  return await Promise.race([work, over]);
}
