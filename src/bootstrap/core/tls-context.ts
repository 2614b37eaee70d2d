import type { ClientTlsSettings } from "../../istio-api/proxy-config/proxy-config.ts";
import type { JsonObject } from "./json.ts";
import { extension } from "./type-urls.ts";

/** Paths from metadata (TLS_CLIENT_*) that take the place of those in the settings. */
export interface ClientTlsPaths {
  readonly rootCert: string;
  readonly certChain: string;
  readonly key: string;
}

interface TlsOptions {
  readonly settings: ClientTlsSettings | undefined;
  readonly paths: ClientTlsPaths;
  /** Server name for ISTIO_MUTUAL without one of its own. */
  readonly defaultSni: string;
  /** Zipkin and Datadog speak HTTP/1.1. */
  readonly alpn: boolean;
}

const SYSTEM_ROOTS = "file-root:system";

/** The transport socket of a tracer, metrics or access log cluster; undefined without TLS. */
export function upstreamTlsSocket({ settings, paths, defaultSni, alpn }: TlsOptions): JsonObject | undefined {
  const mode = settings?.mode ?? "DISABLE";
  if (settings === undefined || mode === "DISABLE") return undefined;
  const istio = mode === "ISTIO_MUTUAL";
  const sni = settings.sni || (istio ? defaultSni : "");
  return extension("envoy.transport_sockets.tls", "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", {
    common_tls_context: {
      ...certificate(settings, paths),
      ...validation(settings, paths),
      ...(alpn && { alpn_protocols: istio ? ["istio", "h2"] : ["h2"] }),
    },
    ...(sni && { sni }),
  });
}

/** The mutual TLS of the secure metrics listeners. */
export function downstreamTlsSocket(): JsonObject {
  return extension("envoy.transport_sockets.tls", "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext", {
    require_client_certificate: true,
    common_tls_context: {
      tls_certificate_sds_secret_configs: [sdsSecret("default", false)],
      combined_validation_context: {
        default_validation_context: {},
        validation_context_sds_secret_config: sdsSecret("ROOTCA", false),
      },
    },
  });
}

/** A secret from the agent's own SDS server. `waits`: Envoy does not go on without it. */
export function sdsSecret(name: string, waits: boolean): JsonObject {
  return {
    name,
    sds_config: {
      api_config_source: {
        api_type: "GRPC",
        grpc_services: [{ envoy_grpc: { cluster_name: "sds-grpc" } }],
        set_node_on_first_message_only: true,
        transport_api_version: "V3",
      },
      ...(waits && { initial_fetch_timeout: "0s" }),
      resource_api_version: "V3",
    },
  };
}

function certificate(settings: ClientTlsSettings, paths: ClientTlsPaths): JsonObject {
  if (settings.mode === "ISTIO_MUTUAL") return { tls_certificate_sds_secret_configs: [sdsSecret("default", true)] };
  const [cert, key] = [paths.certChain || settings.clientCertificate, paths.key || settings.privateKey];
  if (settings.mode !== "MUTUAL" || !cert || !key) return {};
  return { tls_certificate_sds_secret_configs: [sdsSecret(`file-cert:${cert}~${key}`, false)] };
}

/** Without a CA of its own a peer is checked against the system's; Envoy refuses a context that names none. */
function validation(settings: ClientTlsSettings, paths: ClientTlsPaths): JsonObject {
  const ca = paths.rootCert || settings.caCertificates;
  if (settings.insecureSkipVerify && !ca && settings.mode !== "ISTIO_MUTUAL") return {};
  const root =
    settings.mode === "ISTIO_MUTUAL"
      ? sdsSecret("ROOTCA", true)
      : sdsSecret(ca ? `file-root:${ca}` : SYSTEM_ROOTS, false);
  const names = settings.subjectAltNames ?? [];
  return {
    combined_validation_context: {
      default_validation_context:
        names.length > 0 ? { match_subject_alt_names: names.map((exact) => ({ exact })) } : {},
      validation_context_sds_secret_config: root,
    },
  };
}
