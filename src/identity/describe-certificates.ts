import { X509Certificate } from "node:crypto";
import { parsePemCertificate } from "../protocol/x509/certificate.ts";
import { splitBundle } from "./core/trust-bundle.ts";

/** What operators may know of a secret: never a key. */
export interface CertificateDescription {
  readonly resource: string;
  readonly source: "ca" | "saved" | "file";
  readonly certificates: readonly CertificateFacts[];
  /** When the agent will renew it by itself; absent for files and trust bundles. */
  readonly nextRotation?: string;
  /** Why the last renewal failed, while it has not been made good. */
  readonly lastFailure?: string;
}

/** Empty texts, and the subject says so, where a file holds something that is no certificate behind the first one. */
export interface CertificateFacts {
  readonly serial: string;
  readonly subject: string;
  readonly issuer: string;
  /** "URI:spiffe://...", "DNS:..." and so on. */
  readonly subjectAltNames: readonly string[];
  readonly notBefore: string;
  readonly notAfter: string;
}

export function describeCertificates(
  resource: string,
  pem: string,
  about: Omit<CertificateDescription, "resource" | "certificates">,
): CertificateDescription {
  return { resource, certificates: splitBundle(pem).map(describeCertificate), ...about };
}

const UNREADABLE: CertificateFacts = {
  serial: "",
  subject: "(not a certificate)",
  issuer: "",
  subjectAltNames: [],
  notBefore: "",
  notAfter: "",
};

function describeCertificate(pem: string): CertificateFacts {
  try {
    return certificateFacts(pem);
  } catch {
    return UNREADABLE;
  }
}

function certificateFacts(pem: string): CertificateFacts {
  const certificate = new X509Certificate(pem);
  const { serial, names, notBefore, notAfter } = parsePemCertificate(pem);
  return {
    serial,
    subject: oneLine(certificate.subject),
    issuer: oneLine(certificate.issuer),
    subjectAltNames: names.map((name) => `${name.kind.toUpperCase()}:${name.value}`),
    notBefore: notBefore.toISOString(),
    notAfter: notAfter.toISOString(),
  };
}

/** Node prints a distinguished name one part per line. */
function oneLine(name: string | undefined): string {
  return (name ?? "").replaceAll("\n", ", ");
}
