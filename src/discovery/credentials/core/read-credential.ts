import { createPublicKey } from "node:crypto";
import { errorMessage } from "../../../base/coded-error.ts";
import type { Secret as SecretMessage } from "../../../protobuf/gen/envoy/extensions/transport_sockets/tls/v3.ts";
import { type Certificate, parseCertificate } from "../../../protocol/x509/certificate.ts";
import { parsePrivateKey } from "../../../protocol/x509/key-pair.ts";
import { parsePem, parsePemCertificates } from "../../../protocol/x509/pem.ts";
import type { CredentialData } from "../create-credential-table.ts";

/** The message for Envoy, without its name, or why there is none. No text holds a value of the data. */
export type CredentialReading =
  | {
      readonly message: Omit<SecretMessage, "name">;
      /** The proxy gets it, and its peers will not like it. */
      readonly warning?: string;
    }
  | { readonly problem: string };

const PAIRS = [
  { certificate: "cert", key: "key", staple: undefined },
  { certificate: "tls.crt", key: "tls.key", staple: "tls.ocsp-staple" },
] as const;
const ROOTS = [
  { certificate: "cacert", crl: "crl" },
  { certificate: "ca.crt", crl: "ca.crl" },
] as const;

/** A certificate chain and its private key. What Envoy would refuse is refused here: its other secrets come in the same answer. */
export function readKeyPair(data: CredentialData, now: number): CredentialReading {
  const found = PAIRS.find(({ certificate, key }) => isFilled(data, certificate) && isFilled(data, key));
  if (found === undefined)
    return {
      problem: missing(
        data,
        PAIRS.map(({ certificate, key }) => [certificate, key]),
      ),
    };
  const { certificate, key, staple } = found;
  const chain = readCertificates(certificate, data);
  if ("problem" in chain) return chain;
  const wrongKey = keyProblem(chain.certificates[0], textOf(data, key));
  if (wrongKey !== undefined) return { problem: `${key}: ${wrongKey}` };
  return {
    message: {
      tlsCertificate: {
        certificateChain: { inlineBytes: data[certificate] },
        privateKey: { inlineBytes: data[key] },
        ...(staple !== undefined && isFilled(data, staple) && { ocspStaple: { inlineBytes: data[staple] } }),
      },
    },
    ...validityWarning(certificate, chain.certificates.slice(0, 1), now),
  };
}

/** Certificates to check peers with, and a list of revoked ones where there is one. */
export function readRoots(data: CredentialData, now: number): CredentialReading {
  const found = ROOTS.find(({ certificate }) => isFilled(data, certificate));
  if (found === undefined)
    return {
      problem: missing(
        data,
        ROOTS.map(({ certificate }) => [certificate]),
      ),
    };
  const { certificate, crl } = found;
  const roots = readCertificates(certificate, data);
  if ("problem" in roots) return roots;
  const hasList = isFilled(data, crl);
  if (hasList && !hasBlock(textOf(data, crl), "X509 CRL"))
    return { problem: `${crl}: no revocation list in PEM form (BEGIN X509 CRL)` };
  return {
    message: {
      validationContext: {
        trustedCa: { inlineBytes: data[certificate] },
        ...(hasList && { crl: { inlineBytes: data[crl] } }),
      },
    },
    ...validityWarning(certificate, roots.certificates, now),
  };
}

function isFilled(data: CredentialData, key: string): boolean {
  return (data[key] ?? "") !== "";
}

function textOf(data: CredentialData, key: string): string {
  return Buffer.from(data[key] ?? "", "base64").toString("latin1");
}

function readCertificates(
  key: string,
  data: CredentialData,
): { readonly certificates: readonly Certificate[] } | { readonly problem: string } {
  try {
    const certificates = parsePemCertificates(textOf(data, key)).map(parseCertificate);
    return certificates.length > 0 ? { certificates } : { problem: `${key}: no certificate in PEM form` };
  } catch (thrown) {
    return { problem: `${key}: ${errorMessage(thrown)}` };
  }
}

function keyProblem(certificate: Certificate | undefined, pem: string): string | undefined {
  try {
    const der = createPublicKey(parsePrivateKey(pem)).export({ type: "spki", format: "der" });
    return certificate?.publicKeyDer.equals(der) ? undefined : "not the private key of the first certificate";
  } catch (thrown) {
    return errorMessage(thrown);
  }
}

function hasBlock(pem: string, type: string): boolean {
  try {
    return parsePem(pem).some((block) => block.type === type);
  } catch {
    return false;
  }
}

function validityWarning(
  key: string,
  certificates: readonly Certificate[],
  now: number,
): { readonly warning?: string } {
  const past = certificates.find(({ notAfter }) => notAfter.getTime() < now);
  if (past !== undefined) return { warning: `${key}: the certificate expired at ${past.notAfter.toISOString()}` };
  const early = certificates.find(({ notBefore }) => notBefore.getTime() > now);
  if (early === undefined) return {};
  return { warning: `${key}: the certificate is not valid before ${early.notBefore.toISOString()}` };
}

function missing(data: CredentialData, wanted: readonly (readonly string[])[]): string {
  const empty = wanted.find((keys) => keys.every((key) => data[key] !== undefined));
  if (empty !== undefined) return `${empty.join(" and ")} are there, but empty`;
  const found = Object.keys(data);
  const shown = found.length === 0 ? "none of the known keys" : found.sort().join(", ");
  return `expected ${wanted.map((keys) => keys.join(" and ")).join(", or ")}; found ${shown}`;
}
