import type { ClientTLSSettings } from "../../protobuf/gen/istio/networking/v1alpha3.ts";
import type { Sparse } from "../../protobuf/json-types.ts";

/** Contradictions in the TLS settings of a client; empty when there are none. */
export function tlsSettingsProblems(settings: Sparse<ClientTLSSettings>): readonly string[] {
  const problems: string[] = [];
  const { mode = "DISABLE", credentialName = "", caCertificates = "", subjectAltNames = [] } = settings;
  const hasVerification = caCertificates !== "" || subjectAltNames.length > 0;
  if (credentialName.startsWith("configmap://")) {
    problems.push("configmap:// credentialName is not supported here");
  }
  if (settings.insecureSkipVerify === true) {
    // With MUTUAL the credential may hold the client certificate alone, so only SIMPLE excludes it.
    if (mode === "SIMPLE" && (hasVerification || credentialName !== "")) {
      problems.push(
        "cannot specify CaCertificates or CredentialName or SubjectAltNames when InsecureSkipVerify is set true",
      );
    }
    if (mode === "MUTUAL" && hasVerification) {
      problems.push("cannot specify CaCertificates or SubjectAltNames when InsecureSkipVerify is set true");
    }
  }
  if ((mode === "SIMPLE" || mode === "MUTUAL") && credentialName !== "") {
    const { clientCertificate = "", privateKey = "", caCrl = "" } = settings;
    if (clientCertificate !== "" || caCertificates !== "" || privateKey !== "" || caCrl !== "") {
      problems.push("cannot specify client certificates or CA certificate or CA CRL If credentialName is set");
    }
    return problems;
  }
  if (mode === "MUTUAL" && (settings.clientCertificate ?? "") === "")
    problems.push("client certificate required for mutual tls");
  if (mode === "MUTUAL" && (settings.privateKey ?? "") === "") problems.push("private key required for mutual tls");
  return problems;
}
