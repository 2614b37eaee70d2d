import { createHash } from "node:crypto";
import { Secret } from "../base/secret.ts";

/** A certificate chain with its key, as it is handed to a proxy. */
export interface KeyPairSecret {
  readonly kind: "key-pair";
  readonly name: string;
  readonly certificateChain: Buffer;
  readonly privateKey: Secret<Buffer>;
  /** Changes exactly when the content does. */
  readonly version: string;
}

/** Certificates to trust; `crlPath` is a file of revoked ones that the proxy reads itself. */
export interface TrustBundleSecret {
  readonly kind: "trust-bundle";
  readonly name: string;
  readonly roots: Buffer;
  readonly crlPath: string | undefined;
  readonly version: string;
}

export type ServedSecret = KeyPairSecret | TrustBundleSecret;

export function keyPairSecret(name: string, certificateChain: Buffer, privateKey: Buffer): KeyPairSecret {
  const version = contentVersion(certificateChain, privateKey);
  return { kind: "key-pair", name, certificateChain, privateKey: new Secret(privateKey), version };
}

export function trustBundleSecret(name: string, roots: Buffer, crlPath: string | undefined): TrustBundleSecret {
  const version = contentVersion(roots, Buffer.from(crlPath ?? ""));
  return { kind: "trust-bundle", name, roots, crlPath, version };
}

/** A digest, so that equal content has an equal version across restarts. A key has far too much entropy to be guessed from it. */
function contentVersion(first: Buffer, second: Buffer): string {
  return createHash("sha256").update(`${first.length}:`).update(first).update(second).digest("hex").slice(0, 32);
}
