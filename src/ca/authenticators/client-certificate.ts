import { parseCertificate } from "../../protocol/x509/certificate.ts";
import { AuthenticationError, type Authenticator } from "./authenticator.ts";

/** Accepts callers whose TLS certificate was verified; all its SAN values are identities. */
export function clientCertificateAuthenticator(): Authenticator {
  const name = "ClientCertAuthenticator";
  return {
    name,
    authenticate: async ({ peer }) => {
      const certificate = peer.tls?.certificate;
      if (peer.tls === undefined) throw new AuthenticationError("no-credentials", 'unsupported auth type: ""');
      if (certificate === undefined) {
        throw new AuthenticationError("no-credentials", "no client certificate is presented");
      }
      if (!peer.tls.authorized) throw new AuthenticationError("refused", "no verified chain is found");
      const { names } = parseCertificate(certificate.raw);
      const identities = names.map((one) => one.value).filter((value) => value !== "");
      if (identities.length === 0) throw new AuthenticationError("refused", "the SAN extension does not exist");
      return { identities, source: name };
    },
  };
}
