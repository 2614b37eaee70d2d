import { isIP } from "node:net";
import { compareText } from "../../istio-api/config-object.ts";
import type {
  SubjectAltNameMatcher,
  SubjectAltNameMatcher_SanType,
} from "../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";

/** One of these names exactly; sorted and each once, so that equal sets give equal bytes. */
export function exactSans(names: Iterable<string>): readonly SubjectAltNameMatcher[] {
  return [...new Set(names)]
    .toSorted(compareText)
    .map((name) => ({ sanType: sanType(name), matcher: { exact: name } }));
}

/** Any workload of one of the trust domains. */
export function trustDomainSans(trustDomains: Iterable<string>): readonly SubjectAltNameMatcher[] {
  return [...new Set(trustDomains)].map((domain) => ({
    sanType: "URI",
    matcher: { prefix: `spiffe://${domain}/` },
  }));
}

/** An identity is also accepted under each of the other names that the mesh gives trust domains. */
export function withTrustDomainAliases(names: readonly string[], aliases: readonly string[]): readonly string[] {
  if (aliases.length === 0) return names;
  return names.flatMap((name) => {
    const [, path] = WORKLOAD.exec(name) ?? [];
    return path === undefined ? [name] : [name, ...aliases.map((alias) => `spiffe://${alias}${path}`)];
  });
}

const WORKLOAD = /^spiffe:\/\/[^/]+(\/ns\/[^/]+\/sa\/[^/]+)$/;

function sanType(name: string): SubjectAltNameMatcher_SanType {
  if (name.includes("://")) return "URI";
  return isIP(name) === 0 ? "DNS" : "IP_ADDRESS";
}
