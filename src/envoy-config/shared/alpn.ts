/** What a client of the mesh offers during the handshake when it is going to speak HTTP. */
export const MESH_HTTP_ALPN = ["istio-http/1.0", "istio-http/1.1", "istio-h2"] as const;
/** The same for anything else. `istio-peer-exchange` is offered by proxies of the reference and never agreed to here. */
export const MESH_TCP_ALPN = ["istio-peer-exchange", "istio"] as const;
export const MESH_ALPN = ["istio", "istio-peer-exchange", ...MESH_HTTP_ALPN] as const;
/** Names that Envoy's HTTP inspector gives to what it recognises. */
export const PLAINTEXT_HTTP = ["http/1.1", "h2c"] as const;
/** What servers agree to; clients of the mesh then negotiate nothing or HTTP. */
export const SERVER_ALPN = ["h2", "http/1.1"] as const;
