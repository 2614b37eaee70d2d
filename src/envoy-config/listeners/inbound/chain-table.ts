import { isHttp, isSniffed, type Protocol } from "../../../istio-api/values/protocol.ts";
import type { MtlsMode } from "../../../mesh-model/push-snapshot.ts";
import type { FilterChainMatch } from "../../../protobuf/gen/envoy/config/listener/v3.ts";
import { MESH_ALPN, MESH_HTTP_ALPN, MESH_TCP_ALPN, PLAINTEXT_HTTP } from "../alpn.ts";

/** What a port is known to carry. */
export type Traffic = "http" | "tcp" | "sniffed";

export interface ChainShape {
  /** Besides the port. */
  readonly match: FilterChainMatch;
  readonly layer: "http" | "tcp";
  /** The proxy ends TLS; otherwise the bytes go on as they come. */
  readonly endsTls: boolean;
}

export function trafficOf(protocol: Protocol): Traffic {
  if (isHttp(protocol)) return "http";
  return isSniffed(protocol) ? "sniffed" : "tcp";
}

const tls = (layer: ChainShape["layer"], applicationProtocols?: readonly string[]): ChainShape => ({
  match: { transportProtocol: "tls", ...(applicationProtocols && { applicationProtocols }) },
  layer,
  endsTls: true,
});
const plain = (layer: ChainShape["layer"], applicationProtocols?: readonly string[]): ChainShape => ({
  match: { transportProtocol: "raw_buffer", ...(applicationProtocols && { applicationProtocols }) },
  layer,
  endsTls: false,
});
/** The application's own TLS, which is none of the proxy's business. */
const FOREIGN_TLS: ChainShape = { match: { transportProtocol: "tls" }, layer: "tcp", endsTls: false };

/** The chains of one port: what is accepted under a mode, and how it is understood. */
export const CHAIN_TABLE: Readonly<Record<MtlsMode, Readonly<Record<Traffic, readonly ChainShape[]>>>> = {
  STRICT: {
    http: [tls("http")],
    tcp: [tls("tcp")],
    sniffed: [tls("http", MESH_HTTP_ALPN), tls("tcp")],
  },
  PERMISSIVE: {
    http: [tls("http", MESH_ALPN), plain("http")],
    tcp: [tls("tcp", MESH_ALPN), FOREIGN_TLS, plain("tcp")],
    sniffed: [
      tls("http", MESH_HTTP_ALPN),
      plain("http", PLAINTEXT_HTTP),
      tls("tcp", MESH_TCP_ALPN),
      plain("tcp"),
      FOREIGN_TLS,
    ],
  },
  // TLS is not looked for, so that `raw_buffer` holds for everything.
  DISABLE: {
    http: [plain("http")],
    tcp: [plain("tcp")],
    sniffed: [plain("http", PLAINTEXT_HTTP), plain("tcp")],
  },
};

/** A port with a certificate of its own: nothing but TLS, ended here. What it then carries is told by the handshake alone. */
export const OWN_TLS_CHAINS: Readonly<Record<Traffic, readonly ChainShape[]>> = {
  http: [tls("http")],
  tcp: [tls("tcp")],
  sniffed: [tls("http", ["h2", "http/1.1"]), tls("tcp")],
};
