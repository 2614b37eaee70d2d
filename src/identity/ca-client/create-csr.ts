import { CodedError } from "../../base/coded-error.ts";
import type { Secret } from "../../base/secret.ts";
import { buildCsr } from "../../protocol/x509/csr.ts";
import { splitHosts } from "../../protocol/x509/general-names.ts";
import { encodePrivateKey, generateKeyPair, type KeyOptions, type KeyPair } from "../../protocol/x509/key-pair.ts";

export class CsrError extends CodedError<"unsupported-algorithm"> {}

/** The key settings as the environment spells them. Wrong ones fail each request, not the start: the agent keeps serving files. */
export interface CsrKeySettings {
  /** `ECC_SIGNATURE_ALGORITHM`: "" for RSA, "ECDSA" (case-sensitive) for elliptic curves. */
  readonly eccSignatureAlgorithm: string;
  /** `ECC_CURVE`: "P384", anything else is P-256. */
  readonly eccCurve: string;
  /** `WORKLOAD_RSA_KEY_SIZE` */
  readonly rsaKeySize: number;
}

export interface CreateCsrOptions extends CsrKeySettings {
  /** SAN text, usually one SPIFFE URI; split at commas. */
  readonly host: string;
  /** `PKCS8_KEY`: PKCS#8 instead of the key's traditional PEM. */
  readonly pkcs8: boolean;
  /** A pair made ahead of time; a new one is generated when absent. Never use a pair twice. */
  readonly keys?: KeyPair;
}

export interface CreatedCsr {
  readonly csrPem: string;
  readonly privateKeyPem: Secret;
}

/** A new key and the request for it. Generating and signing run on the thread pool. */
export async function createCsr(options: CreateCsrOptions): Promise<CreatedCsr> {
  const keys = options.keys ?? (await generateKeyPair(csrKeyOptions(options)));
  const csrPem = await buildCsr(keys, { hosts: splitHosts(options.host) });
  return { csrPem, privateKeyPem: encodePrivateKey(keys.privateKey, options.pkcs8) };
}

export function csrKeyOptions(settings: CsrKeySettings): KeyOptions {
  if (settings.eccSignatureAlgorithm === "") return { type: "rsa", bits: settings.rsaKeySize };
  if (settings.eccSignatureAlgorithm !== "ECDSA") {
    throw new CsrError("unsupported-algorithm", "csr cert generation fails due to unsupported EC signature algorithm");
  }
  return { type: "ecdsa", curve: settings.eccCurve === "P384" ? "P384" : "P256" };
}
