import type { BootstrapValues } from "./bootstrap-values.ts";
import { assigned, http2, named, resolved } from "./cluster-fields.ts";
import type { JsonObject } from "./json.ts";
import { sdsSecret } from "./tls-context.ts";
import { extension } from "./type-urls.ts";

const EARLY_PIPE = "./etc/istio/proxy/XDS";
const THRESHOLD = { max_connections: 100_000, max_pending_requests: 100_000, max_requests: 100_000 };

/** How the discovery stream leaves Envoy. */
export type XdsRoute = "pipe" | "direct" | "google-grpc";

function xdsRoute({ generation, inputs }: BootstrapValues): XdsRoute {
  const { xds } = generation.document;
  if (xds === "agent") return "pipe";
  if (xds === "direct") return "direct";
  if (inputs.features.callCredentials) return "google-grpc";
  return inputs.features.xdsViaAgent ? "pipe" : "direct";
}

/** The cluster xds-grpc; absent when Envoy's own gRPC client for Google services connects instead. */
export function xdsCluster(values: BootstrapValues): JsonObject | undefined {
  const route = xdsRoute(values);
  const rules = values.generation.document;
  if (route === "google-grpc") return undefined;
  const pipe = rules.xds === "agent" ? `${values.config.configPath ?? ""}/XDS` : EARLY_PIPE;
  const target = route === "pipe" ? { pipe: { path: pipe } } : { socket_address: values.discovery };
  const socket =
    route === "direct" && values.config.controlPlaneAuthPolicy === "MUTUAL_TLS" ? directTls(values) : undefined;
  return {
    ...named("xds-grpc", rules),
    ...(route === "pipe" ? { type: "STATIC", connect_timeout: "1s", lb_policy: "ROUND_ROBIN" } : resolved(values)),
    ...(socket && { transport_socket: socket }),
    ...assigned("xds-grpc", target),
    circuit_breakers: {
      thresholds: [
        { priority: "DEFAULT", ...THRESHOLD },
        { priority: "HIGH", ...THRESHOLD },
      ],
    },
    upstream_connection_options: { tcp_keepalive: { keepalive_time: 300 } },
    max_requests_per_connection: 1,
    ...http2(rules),
  };
}

/** The CA file that a direct connection is checked with. */
function controlPlaneRoot({ inputs }: BootstrapValues): string {
  const { PROV_CERT: provisioned, PILOT_CERT_PROVIDER: provider } = inputs.env;
  if (inputs.agent.xdsRootCert !== "") return inputs.agent.xdsRootCert;
  if (provisioned) return `${provisioned}/root-cert.pem`;
  if (provider === "kubernetes") return "./var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
  return "./var/run/secrets/istio/root-cert.pem";
}

function directTls(values: BootstrapValues): JsonObject {
  return extension("envoy.transport_sockets.tls", "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", {
    sni: values.discoveryHost,
    common_tls_context: {
      alpn_protocols: ["h2"],
      tls_certificate_sds_secret_configs: [sdsSecret("default", true)],
      validation_context: {
        trusted_ca: { filename: controlPlaneRoot(values) },
        match_subject_alt_names: values.inputs.agent.pilotSubjectAltNames.map((exact) => ({ exact })),
      },
    },
  });
}

/** ads_config.grpc_services for the chosen route. */
export function xdsGrpcService(values: BootstrapValues): JsonObject {
  if (xdsRoute(values) !== "google-grpc") return { envoy_grpc: { cluster_name: "xds-grpc" } };
  return {
    google_grpc: {
      target_uri: values.config.discoveryAddress ?? "",
      stat_prefix: "googlegrpcxds",
      channel_credentials: { ssl_credentials: { root_certs: { filename: controlPlaneRoot(values) } } },
      call_credentials: [{ sts_service: stsService(values.inputs.agent.stsPort) }],
      channel_args: {
        args: {
          "grpc.http2.max_pings_without_data": { int_value: 0 },
          "grpc.keepalive_time_ms": { int_value: 10_000 },
          "grpc.keepalive_timeout_ms": { int_value: 20_000 },
        },
      },
    },
  };
}

/** The agent's own token exchange server. */
export function stsService(port: number): JsonObject {
  return {
    token_exchange_service_uri: `http://localhost:${port}/token`,
    subject_token_path: "./var/run/secrets/tokens/istio-token",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
  };
}
