import type { Certificate } from "../../protocol/x509/certificate.ts";
import {
  type CertificateFields,
  certificateExtension,
  keyIdentifier,
} from "../../protocol/x509/certificate-builder.ts";
import { buildName } from "../../protocol/x509/name.ts";
import { SignError } from "../ca-server-error.ts";

export interface LeafRequest {
  readonly publicKeyDer: Buffer;
  /** All go into the SAN, in this order. */
  readonly identities: readonly string[];
  /** Repeat the first identity as the common name, for a CSR that had one. */
  readonly withCommonName: boolean;
  readonly ttlMs: number;
}

/** Peers' clocks are never quite right: a certificate must already be valid for those that are a little behind. */
const BACKDATE_MS = 2 * 60_000;
/** RFC 5280's upper bound of a common name. */
const MAX_COMMON_NAME = 64;

const LEAF_KEY_USAGE = certificateExtension.leafKeyUsage();
const LEAF_EXTENDED_USAGE = certificateExtension.serverAndClientAuth();
const LEAF_CONSTRAINTS = certificateExtension.basicConstraints(false);

/** The fields of a leaf. It never outlives its signer. */
export function leafFields(request: LeafRequest, signer: Certificate, now: Date): CertificateFields {
  if (signer.notAfter <= now) {
    const when = signer.notAfter.toISOString();
    throw new SignError("CERT_GEN_ERROR", `signing certificate has expired at ${when}`);
  }
  return {
    issuer: signer.subject,
    subject: buildName(subjectParts(request)),
    notBefore: new Date(now.getTime() - BACKDATE_MS),
    notAfter: new Date(Math.min(now.getTime() + request.ttlMs, signer.notAfter.getTime())),
    publicKeyDer: request.publicKeyDer,
    extensions: [
      LEAF_KEY_USAGE,
      LEAF_EXTENDED_USAGE,
      LEAF_CONSTRAINTS,
      certificateExtension.authorityKeyId(signer.subjectKeyId ?? keyIdentifier(signer.publicKeyDer)),
      certificateExtension.subjectAltName(request.identities),
    ],
  };
}

/** True when the common name that was asked for does not fit and is left out. */
export function omitsCommonName(request: LeafRequest): boolean {
  return request.withCommonName && (request.identities[0] ?? "").length > MAX_COMMON_NAME;
}

function subjectParts(request: LeafRequest): { commonName?: string } {
  const [first] = request.identities;
  if (!request.withCommonName || first === undefined || first.length > MAX_COMMON_NAME) return {};
  return { commonName: first };
}
