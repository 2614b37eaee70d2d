import { formatIp, parseIp } from "../../net/ip.ts";
import type { NameInfo, NameTable } from "../../xds/name-table.ts";
import { alternateHosts, type ProxyScope } from "./alternate-hosts.ts";

/**
 * The table as `/debug/ndsz` shows it: compact proto-JSON with sorted keys, the received entries as received and one more entry per
 * alternate name that is not a key already.
 */
export function describeTable(message: NameTable, scope: ProxyScope, withAltHosts: boolean): string {
  const entries = new Map<string, object>();
  const received = Object.entries(message.table);
  for (const [host, info] of received) entries.set(host, shownInfo(info));
  for (const [host, info] of received) {
    const ips = canonicalIps(info.ips);
    if (ips.length === 0) continue;
    for (const name of alternateHosts(host, info, scope, withAltHosts)) {
      if (!entries.has(name)) entries.set(name, { ips, ...(info.registry ? { registry: info.registry } : {}) });
    }
  }
  if (entries.size === 0) return "{}";
  // Written by hand because a JavaScript object would put keys that look like numbers first.
  const sorted = [...entries].sort(([left], [right]) => (left < right ? -1 : 1));
  return `{"table":{${sorted.map(([host, info]) => `${JSON.stringify(host)}:${JSON.stringify(info)}`).join(",")}}}`;
}

/** Empty fields are absent, as in proto-JSON. */
function shownInfo(info: NameInfo): object {
  return {
    ...(info.ips.length > 0 && { ips: info.ips }),
    ...(info.registry && { registry: info.registry }),
    ...(info.shortname && { shortname: info.shortname }),
    ...(info.namespace && { namespace: info.namespace }),
    ...(info.altHosts && info.altHosts.length > 0 && { altHosts: info.altHosts }),
  };
}

function canonicalIps(ips: readonly string[]): string[] {
  const parsed = ips.map(parseIp).filter((address) => address !== undefined);
  const ordered = [...parsed.filter(({ family }) => family === 4), ...parsed.filter(({ family }) => family === 6)];
  return ordered.map(formatIp);
}
