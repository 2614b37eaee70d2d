import { errorMessage } from "../base/coded-error.ts";
import type { Logger } from "../base/logger.ts";
import type { Secret } from "../base/secret.ts";
import { buildCertificate } from "../protocol/x509/certificate-builder.ts";
import { type VerifiedCsr, verifyCsr } from "../protocol/x509/csr.ts";
import { encodePrivateKey, generateKeyPair, type KeyOptions } from "../protocol/x509/key-pair.ts";
import { encodePem } from "../protocol/x509/pem.ts";
import { SignError } from "./ca-server-error.ts";
import { checkKeyStrength, type LeafRequest, leafFields, omitsCommonName } from "./core/leaf-certificate.ts";
import { leafTtlMs, type TtlLimits } from "./core/leaf-ttl.ts";
import type { SigningMaterial } from "./core/signing-material.ts";
import { randomSerial } from "./random-serial.ts";

export interface SignRequest {
  readonly csrPem: string;
  /** Become the SANs, regardless of the CSR. At least one. */
  readonly identities: readonly string[];
  /** Zero or less: the default. */
  readonly ttlSeconds: bigint;
}

/** A server's own key and certificate, for TLS ports of the process that runs the CA. */
export interface ServerCertificate {
  readonly keyPem: Secret;
  /** Leaf and intermediates. */
  readonly chainPem: string;
  readonly notAfter: Date;
}

export interface IssueContext {
  readonly material: SigningMaterial;
  readonly now: Date;
  readonly log: Logger;
}

/** The chain to answer with: leaf, each intermediate as its own element, the root bundle as one. Rejects with a `SignError`. */
export async function signCsr(
  request: SignRequest,
  limits: TtlLimits,
  context: IssueContext,
): Promise<readonly string[]> {
  const csr = await acceptedCsr(request.csrPem);
  const leaf: LeafRequest = {
    publicKeyDer: csr.publicKeyDer,
    identities: request.identities,
    withCommonName: csr.hasCommonName,
    ttlMs: leafTtlMs(request.ttlSeconds, limits),
    serial: randomSerial(),
  };
  if (omitsCommonName(leaf)) context.log.error("identity is too long for a common name, which is left out");
  const { material } = context;
  return [await signLeaf(leaf, context), ...material.chainPem, material.rootPem];
}

/** A new key and a certificate with these DNS names and addresses; the TTL cap for workloads does not apply. */
export async function issueServerCertificate(
  hosts: readonly string[],
  lifetimeMs: number,
  context: IssueContext,
): Promise<ServerCertificate> {
  const keys = await generateKeyPair(serverKeyOptions(context.material));
  const publicKeyDer = keys.publicKey.export({ type: "spki", format: "der" });
  const identities = [...new Set(hosts)].sort();
  const request = { publicKeyDer, identities, withCommonName: false, ttlMs: lifetimeMs, serial: randomSerial() };
  const leaf = await signLeaf(request, context);
  const end = Math.min(context.now.getTime() + lifetimeMs, context.material.certificate.notAfter.getTime());
  return {
    keyPem: encodePrivateKey(keys.privateKey, true),
    chainPem: [leaf, ...context.material.chainPem].join(""),
    notAfter: new Date(end),
  };
}

async function acceptedCsr(pem: string): Promise<VerifiedCsr> {
  try {
    const csr = await verifyCsr(pem);
    checkKeyStrength(csr.publicKey);
    return csr;
  } catch (cause) {
    if (cause instanceof SignError) throw cause;
    throw new SignError("CSR_ERROR", errorMessage(cause), { cause });
  }
}

async function signLeaf(leaf: LeafRequest, { material, now }: IssueContext): Promise<string> {
  try {
    const fields = leafFields(leaf, material.certificate, now);
    return encodePem("CERTIFICATE", await buildCertificate(fields, material.key));
  } catch (cause) {
    if (cause instanceof SignError) throw cause;
    throw new SignError("CERT_GEN_ERROR", errorMessage(cause), { cause });
  }
}

/** RSA unless the CA itself is on a curve. */
function serverKeyOptions(material: SigningMaterial): KeyOptions {
  const curve = material.key.asymmetricKeyDetails?.namedCurve;
  if (curve === "secp384r1") return { type: "ecdsa", curve: "P384" };
  return curve === undefined ? { type: "rsa", bits: 2048 } : { type: "ecdsa", curve: "P256" };
}
