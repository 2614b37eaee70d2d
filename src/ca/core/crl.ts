import { type Certificate, certificatePublicKey } from "../../protocol/x509/certificate.ts";
import { DerReader } from "../../protocol/x509/der-reader.ts";
import { TAG } from "../../protocol/x509/der-writer.ts";
import { parsePem } from "../../protocol/x509/pem.ts";
import { verifyBytes } from "../../protocol/x509/signature.ts";
import { CaMaterialError } from "../ca-server-error.ts";

interface Crl {
  readonly issuer: Buffer;
  readonly body: Buffer;
  readonly algorithm: string;
  readonly signature: Buffer;
}

/** Envoy checks revocation for the whole chain once it has any CRL, so one must exist for every signer of the chain. */
export function checkCrls(pem: string, signers: readonly Certificate[]): void {
  const crls = parseCrls(pem);
  const missing = signers.filter((signer) => !crls.some((crl) => isSignedBy(crl, signer)));
  if (missing.length === 0) return;
  const serials = missing.map((signer) => `serial ${signer.serial}`).join(", ");
  throw new CaMaterialError("missing-crl", `missing CRL signed by certificates: [${serials}]`);
}

function parseCrls(pem: string): Crl[] {
  try {
    return parsePem(pem)
      .filter((block) => block.type === "X509 CRL")
      .map((block) => parseCrl(block.der));
  } catch (cause) {
    throw new CaMaterialError("missing-crl", "the CRL file cannot be parsed", { cause });
  }
}

function parseCrl(der: Buffer): Crl {
  const parts = new DerReader(der).sequence();
  const body = parts.expect(TAG.sequence);
  const algorithm = parts.sequence().oid();
  const signature = parts.bitString();
  const fields = new DerReader(body.content);
  fields.optional(TAG.integer); // version
  fields.expect(TAG.sequence); // signature algorithm
  return { issuer: fields.expect(TAG.sequence).raw, body: body.raw, algorithm, signature };
}

function isSignedBy(crl: Crl, signer: Certificate): boolean {
  if (!crl.issuer.equals(signer.subject)) return false;
  return verifyBytes(crl.body, crl.signature, certificatePublicKey(signer), crl.algorithm);
}
