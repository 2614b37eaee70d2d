import { randomBytes } from "node:crypto";
import { openssl } from "./openssl.ts";

export interface CertifiedKey {
  readonly cert: string;
  readonly key: string;
}

export interface OpensslCertificates {
  readonly ca: string;
  /** For localhost and 127.0.0.1. */
  readonly server: CertifiedKey;
  /** For the name other.test only. */
  readonly otherServer: CertifiedKey;
  /** Carries the URI name spiffe://cluster.local/ns/default/sa/client. */
  readonly client: CertifiedKey;
  /** The same name, signed by a CA that is not trusted. */
  readonly strangerClient: CertifiedKey;
}

let made: OpensslCertificates | undefined;

/**
 * Certificates of another implementation than ours, made once per test process with the machine's openssl; a test that uses them says so
 * with `needs("openssl")`.
 */
export function opensslCertificates(): OpensslCertificates {
  made ??= makeCertificates();
  return made;
}

/** A self-signed certificate, as applications in pods have them; another one with each call. */
export function selfSignedCertificate(organization = "app"): CertifiedKey {
  return takeApart(openssl(["req", "-x509", ...NEW_KEY, "-days", "2", "-subj", `/O=${organization}`]));
}

function makeCertificates(): OpensslCertificates {
  const spiffe = "URI:spiffe://cluster.local/ns/default/sa/client";
  const [ca, stranger] = [selfSignedCertificate("ca"), selfSignedCertificate("stranger")];
  return {
    ca: ca.cert,
    server: makeLeaf(ca, "server", "DNS:localhost,IP:127.0.0.1"),
    otherServer: makeLeaf(ca, "other", "DNS:other.test"),
    client: makeLeaf(ca, "client", spiffe),
    strangerClient: makeLeaf(stranger, "stranger-client", spiffe),
  };
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "-"];

/** A certificate of the CA; `altNames` as openssl writes them, `DNS:a.example`. */
export function makeLeaf(ca: CertifiedKey, name: string, altNames: string): CertifiedKey {
  const request = openssl(["req", ...NEW_KEY, "-subj", `/CN=${name}`]);
  const { key } = takeApart(request);
  const serial = `0x${randomBytes(8).toString("hex")}`;
  const signer = ["-CA", "@ca.crt", "-CAkey", "@ca.key", "-set_serial", serial];
  const cert = openssl(["x509", "-req", "-in", "@csr", ...signer, "-days", "1", "-extfile", "@ext"], {
    csr: request,
    "ca.crt": ca.cert,
    "ca.key": ca.key,
    ext: `subjectAltName=${altNames}\n`,
  });
  return { cert, key };
}

function takeApart(output: string): CertifiedKey {
  const block = (label: string) =>
    new RegExp(`-----BEGIN ${label}-----[^-]*-----END ${label}-----\n`).exec(output)?.[0] ?? "";
  return { cert: block("CERTIFICATE"), key: block("PRIVATE KEY") };
}
