import type { BootstrapValues } from "./bootstrap-values.ts";
import type { DocumentRules } from "./generations.ts";
import type { JsonObject } from "./json.ts";
import { typeUrl } from "./type-urls.ts";

/** Name, and the name in statistics: the semicolon ends it, so that the name may contain dots. */
export function named(name: string, rules: DocumentRules): JsonObject {
  return { name, ...(rules.altStatNames && { alt_stat_name: `${name};` }) };
}

/** The assignment of a cluster's one endpoint. */
export function assigned(name: string, address: JsonObject): JsonObject {
  return { load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address } }] }] } };
}

/** Makes Envoy speak HTTP/2 to the cluster. */
export function http2(rules: DocumentRules): JsonObject {
  if (rules.http2 === "field") return { http2_protocol_options: {} };
  const name = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
  const options = { "@type": typeUrl(name), explicit_http_config: { http2_protocol_options: {} } };
  return { typed_extension_protocol_options: { [name]: options } };
}

export function fixed(connectTimeout: string): JsonObject {
  return { type: "STATIC", connect_timeout: connectTimeout, lb_policy: "ROUND_ROBIN" };
}

/** A name that is looked up, of the families the node has. */
export function resolved({ network }: BootstrapValues): JsonObject {
  return {
    type: "STRICT_DNS",
    respect_dns_ttl: true,
    dns_lookup_family: network.dnsLookupFamily,
    connect_timeout: "1s",
    lb_policy: "ROUND_ROBIN",
  };
}
