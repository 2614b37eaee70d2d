const NAMES: Readonly<Record<string, string>> = { cluster: "ISTIO_META_CLUSTER_ID", net: "ISTIO_META_NETWORK" };
const OLD_SEPARATOR = ":ENV:";

/**
 * Variables of the proxy that the webhook's URL carries: `/inject/cluster/C/net/N`, or the older `/inject/:ENV:cluster=C:ENV:net=N`.
 * The path is decoded already. A key without a value is ignored and reported.
 */
export function pathEnvironment(path: string): {
  readonly env: Readonly<Record<string, string>>;
  readonly ignored: readonly string[];
} {
  const rest = /^\/inject\/(.*)$/s.exec(path)?.[1]?.replace(/\/$/, "") ?? "";
  const env: Record<string, string> = {};
  const ignored: string[] = [];
  if (rest.startsWith(OLD_SEPARATOR)) {
    for (const entry of rest.split(OLD_SEPARATOR).slice(1)) {
      const at = entry.indexOf("=");
      if (at > 0) env[variable(entry.slice(0, at))] = entry.slice(at + 1);
      else ignored.push(entry);
    }
    return { env, ignored };
  }
  const parts = rest === "" ? [] : rest.split("/");
  for (let at = 0; at < parts.length; at += 2) {
    const [key = "", value] = [parts[at], parts[at + 1]];
    if (value === undefined) ignored.push(key);
    else env[variable(key)] = value.replaceAll("--slash--", "/");
  }
  return { env, ignored };
}

function variable(key: string): string {
  return Object.hasOwn(NAMES, key) ? (NAMES[key] ?? key) : key.toUpperCase();
}
