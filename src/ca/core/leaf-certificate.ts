import type { KeyObject } from "node:crypto";
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
  readonly serial: Uint8Array;
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
    serial: request.serial,
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

const CURVES = new Set(["prime256v1", "secp384r1", "secp521r1"]);
const MIN_RSA_BITS = 2048;
/** Larger keys only make every peer's handshake slow. */
const MAX_RSA_BITS = 8192;

/** Refuses keys that are too weak to trust, or too costly to verify. */
export function checkKeyStrength(key: KeyObject): void {
  const details = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case "rsa": {
      const bits = details.modulusLength ?? 0;
      if (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS) {
        throw weak(`RSA key of ${bits} bits, allowed are ${MIN_RSA_BITS} to ${MAX_RSA_BITS}`);
      }
      const exponent = details.publicExponent ?? 0n;
      if (exponent < 65537n) throw weak(`RSA key with public exponent ${exponent}, the least allowed is 65537`);
      return;
    }
    case "ec": {
      const curve = details.namedCurve ?? "unknown";
      if (!CURVES.has(curve)) throw weak(`elliptic curve ${curve}, allowed are P-256, P-384 and P-521`);
      return;
    }
    case "ed25519":
      return;
    default:
      throw weak(`key of type ${key.asymmetricKeyType}, allowed are RSA, ECDSA and Ed25519`);
  }
}

function weak(what: string): SignError {
  return new SignError("CSR_ERROR", `CSR has an unacceptable key: ${what}`);
}
