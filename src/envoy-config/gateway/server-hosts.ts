import { hostCovers } from "../../istio-api/values/hostname.ts";

/** A host of a server, and of which namespaces rules for it may come (`*`: of all). */
export interface ServerHost {
  readonly namespace: string;
  readonly host: string;
}

/** `host` or `namespace/host`, where `.` is the namespace of the gateway itself. */
export function parseServerHost(text: string, own: string): ServerHost {
  const slash = text.indexOf("/");
  const host = text.slice(slash + 1).toLowerCase();
  if (slash === -1) return { namespace: "*", host };
  const namespace = text.slice(0, slash);
  return { namespace: namespace === "." ? own : namespace, host };
}

/** What a rule of the namespace may say about hosts of the server: of two that overlap the narrower one. */
export function commonHosts(
  server: readonly ServerHost[],
  namespace: string,
  ruled: readonly string[],
): readonly string[] {
  const open = server.filter((one) => one.namespace === "*" || one.namespace === namespace);
  const common = open.flatMap(({ host }) =>
    ruled.flatMap((name) => {
      const lower = name.toLowerCase();
      if (hostCovers(host, lower)) return [lower];
      return hostCovers(lower, host) ? [host] : [];
    }),
  );
  return [...new Set(common)];
}

/** By which server names TLS connections are meant for these hosts; none: every one is. */
export function sniHosts(hosts: readonly ServerHost[]): readonly string[] {
  const names = new Set(hosts.map(({ host }) => host));
  return names.has("*") ? [] : [...names];
}
