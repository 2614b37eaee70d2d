import type { TestCertificate } from "./certificates.ts";
import { openssl } from "./openssl.ts";

/** A CRL that revokes nothing, as PEM; another one with each call. A test that uses it says so with `needs("openssl")`. */
export function revocationList(issuer: TestCertificate): string {
  const config = "[d]\ndatabase=/dev/null\ndefault_md=sha256\ndefault_crl_days=1\n";
  return openssl(["ca", "-gencrl", "-config", "@config", "-name", "d", "-keyfile", "@key", "-cert", "@cert"], {
    config,
    key: issuer.keyPem,
    cert: issuer.pem,
  });
}
