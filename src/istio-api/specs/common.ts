import {
  bool,
  duration,
  type Infer,
  int32,
  list,
  map,
  message,
  oneOf,
  optional,
  string,
  uint32,
} from "../schema/schema.ts";

/** networking.istio.io spells the labels of a selector `labels`, the other groups `matchLabels`. */
export const NETWORK_SELECTOR = message("workload selector", { labels: map(string) });
export const LABEL_SELECTOR = message("selector", { matchLabels: map(string) });

export const TARGET_REF = message("target reference", { group: string, kind: string, name: string, namespace: string });

/** `number` of a port selector. */
export const PORT_SELECTOR = message("port", { number: uint32 });

export const DESTINATION = message("destination", { host: string, subset: string, port: PORT_SELECTOR });
export interface Destination extends Infer<typeof DESTINATION> {}

const TCP_KEEPALIVE = message("tcp keepalive", { probes: uint32, time: duration, interval: duration });

/** Zero and unset mean the same to proxies of the reference; both are told apart here. */
export const CONNECTION_POOL = message("connection pool", {
  tcp: message("tcp connection pool", {
    maxConnections: optional(int32),
    connectTimeout: duration,
    tcpKeepalive: TCP_KEEPALIVE,
    maxConnectionDuration: duration,
    idleTimeout: duration,
  }),
  http: message("http connection pool", {
    http1MaxPendingRequests: optional(int32),
    http2MaxRequests: optional(int32),
    maxRequestsPerConnection: optional(int32),
    maxRetries: optional(int32),
    idleTimeout: duration,
    h2UpgradePolicy: oneOf("DEFAULT", "DO_NOT_UPGRADE", "UPGRADE"),
    useClientProtocol: bool,
    maxConcurrentStreams: optional(int32),
    http2KeepAlive: message("http2 keepalive", { interval: duration, timeout: duration }),
  }),
});
export interface ConnectionPool extends Infer<typeof CONNECTION_POOL> {}

export const CLIENT_TLS = message("tls settings", {
  mode: oneOf("DISABLE", "SIMPLE", "MUTUAL", "ISTIO_MUTUAL"),
  clientCertificate: string,
  privateKey: string,
  caCertificates: string,
  caCrl: string,
  credentialName: string,
  subjectAltNames: list(string),
  sni: string,
  insecureSkipVerify: optional(bool),
});
export interface ClientTls extends Infer<typeof CLIENT_TLS> {}

const TLS_VERSION = oneOf("TLS_AUTO", "TLSV1_0", "TLSV1_1", "TLSV1_2", "TLSV1_3");

export const SERVER_TLS = message("server tls settings", {
  httpsRedirect: bool,
  mode: oneOf("PASSTHROUGH", "SIMPLE", "MUTUAL", "AUTO_PASSTHROUGH", "ISTIO_MUTUAL", "OPTIONAL_MUTUAL"),
  serverCertificate: string,
  privateKey: string,
  caCertificates: string,
  caCrl: string,
  tlsCertificates: list(
    message("tls certificate", { serverCertificate: string, privateKey: string, caCertificates: string }),
  ),
  credentialName: string,
  credentialNames: list(string),
  caCertCredentialName: string,
  subjectAltNames: list(string),
  verifyCertificateSpki: list(string),
  verifyCertificateHash: list(string),
  minProtocolVersion: TLS_VERSION,
  maxProtocolVersion: TLS_VERSION,
  cipherSuites: list(string),
});
export interface ServerTls extends Infer<typeof SERVER_TLS> {}
