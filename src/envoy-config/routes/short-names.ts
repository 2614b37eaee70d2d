import { isWildcard } from "../../istio-api/values/hostname.ts";

/** Further names under which callers of a domain know a host: what their resolver's search list would complete. */
export function shortNames(host: string, callerDomain: string): readonly string[] {
  if (isWildcard(host)) return [];
  const service = callerDomain.indexOf(SERVICE_PART);
  return service < 0 ? bySharedSuffix(host, callerDomain) : byNamespace(host, callerDomain, service);
}

const SERVICE_PART = ".svc.";

/** Kubernetes style: `web`, `web.prod` and `web.prod.svc` for `web.prod.svc.cluster.local`; the first only beside the service. */
function byNamespace(host: string, callerDomain: string, service: number): readonly string[] {
  const suffix = callerDomain.slice(service);
  const end = host.length - suffix.length;
  const dot = host.indexOf(".");
  if (!host.endsWith(suffix) || dot <= 0 || dot >= end) return [];
  const short = host.slice(0, end);
  return short.slice(dot + 1) === callerDomain.slice(0, service)
    ? [host.slice(0, dot), `${short}.svc`, short]
    : [short, `${short}.svc`];
}

/** Other networks: what remains of the host without the end that it shares with the caller's domain. */
function bySharedSuffix(host: string, callerDomain: string): readonly string[] {
  const own = host.split(".");
  const domain = callerDomain.split(".");
  let shared = 0;
  while (shared < Math.min(own.length, domain.length) && own.at(-1 - shared) === domain.at(-1 - shared)) shared += 1;
  const unique = own.slice(0, own.length - shared);
  if (shared === 0 || unique.length === 0) return [];
  const name = unique.join(".");
  // `foo.local` of `foo.local.campus.net` is also looked for one step up.
  return unique.length === 2 ? [name, `${name}.${own[2]}`] : [name];
}
