import { parseStat } from "./stat-line.ts";

export interface ActiveConnections {
  /** -1 when Envoy reported nothing at all: no connection yet, or the stats are off. */
  readonly count: number;
  /** Lines that could not be used. */
  readonly warnings: readonly string[];
}

/** Sums the open connections of the listeners that carry traffic; those of probes, scrapers and the admin do not count. */
export function countActiveConnections(stats: string, ownPorts: readonly number[]): ActiveConnections {
  if (stats === "") return { count: -1, warnings: [] };
  const warnings: string[] = [];
  let count = 0;
  for (const line of lines(stats)) {
    const [name = "", value, ...more] = line.split(":").length === 2 ? line.split(":") : splitAfterAddress(line);
    if (value === undefined || more.length > 0) {
      warnings.push(`envoy stat line is missing separator. line:${line}`);
      continue;
    }
    if (!isTraffic(name, ownPorts)) continue;
    const parsed = parseStat(name, value.trim(), line);
    if ("error" in parsed) warnings.push(parsed.error);
    else count += parsed.value;
  }
  return { count, warnings };
}

/** Envoy ends its output with a newline, which is not a line of its own. */
function lines(stats: string): string[] {
  return stats.replace(/\n$/, "").split("\n");
}

/** An IPv6 listener without a stat prefix may print colons in its address; the value follows the last one. */
function splitAfterAddress(line: string): string[] {
  const match = /^(listener\.\[[^\]]*\]_\d+\.downstream_cx_active):(.*)$/.exec(line);
  return match === null ? [line] : [match[1] ?? "", match[2] ?? ""];
}

function isTraffic(name: string, ownPorts: readonly number[]): boolean {
  if (!name.startsWith("listener.") || name.includes("worker_")) return false;
  if (name.startsWith("listener.envoy_internal_") || name.startsWith("listener.admin.")) return false;
  const port = /_(\d+)\.downstream_cx_active$/.exec(name)?.[1];
  // Any address: the own listeners are on 0.0.0.0, [__] or a loopback, by IP family and settings.
  return port === undefined || !(ownPorts.includes(Number(port)) && isOwnAddress(name));
}

function isOwnAddress(name: string): boolean {
  const address = name.slice("listener.".length).replace(/_\d+\.downstream_cx_active$/, "");
  return OWN_ADDRESSES.has(address);
}

/** The wildcard and loopback addresses as Envoy spells them in stat names, where a colon becomes an underscore. */
const OWN_ADDRESSES: ReadonlySet<string> = new Set(["0.0.0.0", "127.0.0.1", "[__]", "[__1]", "[::]", "[::1]"]);
