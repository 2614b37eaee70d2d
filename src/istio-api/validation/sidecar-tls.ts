import type { ServerTls } from "../specs.ts";
import type { Report } from "./report.ts";

/** TLS that a sidecar terminates itself: of files alone, as there is nobody who would bring it secrets. */
export function validateIngressTls(report: Report, tls: ServerTls): void {
  const { mode } = tls;
  if (tls.subjectAltNames.length > 0) {
    report.error("sidecar: subjectAltNames is not supported in ingress tls", "subjectAltNames");
  }
  if (tls.httpsRedirect) report.error("sidecar: httpsRedirect is not supported", "httpsRedirect");
  if (tls.credentialName !== "") report.error("sidecar: credentialName is not currently supported", "credentialName");
  if (tls.credentialNames.length > 0) {
    report.error("sidecar: credentialNames is not currently supported", "credentialNames");
  }
  if (tls.tlsCertificates.length > 0) {
    report.error("sidecar: tls_certificates is not currently supported", "tlsCertificates");
  }
  if (mode === "ISTIO_MUTUAL" || mode === "AUTO_PASSTHROUGH") {
    report.error(`configuration is invalid: cannot set mode to ${mode} in sidecar ingress tls`, "mode");
  }
  if (mode === "SIMPLE" || mode === "MUTUAL" || mode === "OPTIONAL_MUTUAL") validateFiles(report, tls);
}

function validateFiles(report: Report, tls: ServerTls): void {
  const isSimple = tls.mode === "SIMPLE";
  const what = isSimple ? "SIMPLE TLS" : "MUTUAL TLS";
  if (!isSimple && tls.caCertificates === "") report.error(`${what} requires a client CA bundle`, "caCertificates");
  if (isSimple && tls.caCrl !== "") report.error("CRL is not supported with SIMPLE TLS", "caCrl");
  // Other sources are told above; they have these files in them.
  if (tls.credentialName !== "" || tls.credentialNames.length > 0 || tls.tlsCertificates.length > 0) return;
  if (tls.serverCertificate === "") report.error(`${what} requires a server certificate`, "serverCertificate");
  if (tls.privateKey === "") report.error(`${what} requires a private key`, "privateKey");
}
