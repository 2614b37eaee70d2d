import { X509Certificate } from "node:crypto";

/** A Kubernetes Secret as far as gateways use it; the values are decoded. */
export interface KubernetesSecret {
  readonly name: string;
  readonly data: ReadonlyMap<string, Buffer>;
}

export interface GatewayCredentials {
  readonly keyPair: { readonly certificate: Buffer; readonly key: Buffer } | undefined;
  readonly roots: Buffer | undefined;
}

export type ParsedGatewaySecret =
  | { readonly kind: "taken"; readonly credentials: GatewayCredentials }
  /** Not for gateways: system secrets and service account tokens. */
  | { readonly kind: "ignored" }
  | { readonly kind: "invalid"; readonly problem: string };

export const CA_SUFFIX = "-cacert";
const SYSTEM_PREFIXES = ["istio", "prometheus"] as const;

/** Reads either set of key names; a name that ends in "-cacert" holds roots only. */
export function parseGatewaySecret({ name, data }: KubernetesSecret): ParsedGatewaySecret {
  if (SYSTEM_PREFIXES.some((prefix) => name.startsWith(prefix)) || present(data, "token") !== undefined) {
    return { kind: "ignored" };
  }
  if (name.endsWith(CA_SUFFIX)) {
    const roots = present(data, "cacert") ?? present(data, "ca.crt") ?? present(data, "tls.crt");
    return roots === undefined
      ? { kind: "invalid", problem: "it has none of cacert, ca.crt and tls.crt" }
      : checked({ keyPair: undefined, roots });
  }
  const certificate = present(data, "cert") ?? present(data, "tls.crt");
  const key = present(data, "cert") === undefined ? present(data, "tls.key") : present(data, "key");
  const roots = present(data, "cert") === undefined ? present(data, "ca.crt") : present(data, "cacert");
  if (certificate === undefined || key === undefined) {
    return { kind: "invalid", problem: "it has neither cert and key nor tls.crt and tls.key" };
  }
  return checked({ keyPair: { certificate, key }, roots });
}

function present(data: ReadonlyMap<string, Buffer>, key: string): Buffer | undefined {
  const value = data.get(key);
  return value === undefined || value.length === 0 ? undefined : value;
}

function checked(credentials: GatewayCredentials): ParsedGatewaySecret {
  for (const pem of [credentials.keyPair?.certificate, credentials.roots]) {
    try {
      if (pem !== undefined) new X509Certificate(pem);
    } catch {
      return { kind: "invalid", problem: "it holds a certificate that cannot be parsed" };
    }
  }
  return { kind: "taken", credentials };
}
