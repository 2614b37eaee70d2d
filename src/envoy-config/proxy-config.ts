import type { ProxyConfig } from "../istio-api/proxy-config/proxy-config.ts";
import { message, repeatedString } from "../protobuf/wire/message.ts";

/**
 * What agents take from the control plane while they run: the trust anchors of the mesh, PEM text each, in the order in which they
 * are to be tried. Everything else of ProxyConfig is read when an agent starts.
 */
export function generateProxyConfig(trustBundle: readonly string[]): ProxyConfig {
  return { caCertificatesPem: [...new Set(trustBundle)] };
}

/** istio.mesh.v1alpha1.ProxyConfig as far as `generateProxyConfig` fills it. */
export function encodeProxyConfig({ caCertificatesPem = [] }: ProxyConfig): Buffer {
  return CODEC.encode({ caCertificatesPem: [...caCertificatesPem] });
}

const CODEC = message({ caCertificatesPem: repeatedString(34) });
