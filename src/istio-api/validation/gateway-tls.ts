import type { ServerTls } from "../specs.ts";
import type { Report } from "./report.ts";

/** TLS at a router: where its certificates come from, and whether the mode has a use for them. */
export function validateGatewayTls(report: Report, tls: ServerTls): void {
  const { mode, minProtocolVersion: min } = tls;
  if ((min === "TLSV1_0" || min === "TLSV1_1") && tls.cipherSuites.length === 0) {
    report.warn("TLS version below TLSV1_2 require setting compatible ciphers", "minProtocolVersion");
  }
  if (mode === "ISTIO_MUTUAL") {
    for (const [what, field] of MESH_HAS_OWN) {
      if (tls[field].length > 0) report.error(`ISTIO_MUTUAL TLS cannot have associated ${what}`, field);
    }
    return;
  }
  const sources = [
    tls.serverCertificate !== "" && tls.privateKey !== "",
    tls.credentialName !== "",
    tls.credentialNames.length > 0,
    tls.tlsCertificates.length > 0,
  ];
  if (mode === "PASSTHROUGH" || mode === "AUTO_PASSTHROUGH") {
    const others = [tls.caCrl, tls.serverCertificate, tls.privateKey, tls.caCertificates];
    if (sources.includes(true) || others.some((file) => file !== "")) {
      report.warn(`${mode} mode does not use certificates, they will be ignored`, "mode");
    }
  }
  if (sources.filter(Boolean).length > 1) {
    report.error(
      "only one of credential_name, credential_names, server_certificate/private_key, tls_certificates should be specified",
    );
  }
  if (tls.caCrl !== "" && tls.credentialName !== "") {
    report.error("CRL is not supported with credentialName. CRL has to be specified in the credential", "caCrl");
  }
  const isStored = tls.credentialName !== "" || tls.credentialNames.length > 0;
  if (!isStored && (mode === "SIMPLE" || mode === "MUTUAL" || mode === "OPTIONAL_MUTUAL")) validateFiles(report, tls);
}

const MESH_HAS_OWN = [
  ["server certificate", "serverCertificate"],
  ["private key", "privateKey"],
  ["CA bundle", "caCertificates"],
  ["tlsCertificates", "tlsCertificates"],
  ["credentialName", "credentialName"],
  ["credentialNames", "credentialNames"],
] as const;

function validateFiles(report: Report, tls: ServerTls): void {
  const isSimple = tls.mode === "SIMPLE";
  const what = isSimple ? "SIMPLE TLS" : "MUTUAL TLS";
  const hasRoots = tls.caCertificates !== "" || tls.caCertCredentialName !== "";
  if (!isSimple && !hasRoots) report.error(`${what} requires a client CA bundle`, "caCertificates");
  if (isSimple && tls.caCrl !== "") report.error("CRL is not supported with SIMPLE TLS", "caCrl");
  const given = tls.tlsCertificates;
  if (given.length > 2) report.warn(`${what} can support up to 2 server certificates`, "tlsCertificates");
  for (const [at, { serverCertificate, privateKey }] of (given.length > 0 ? given : [tls]).entries()) {
    const place = given.length > 0 ? report.at("tlsCertificates", at) : report;
    if (serverCertificate === "") place.error(`${what} requires a server certificate`, "serverCertificate");
    if (privateKey === "") place.error(`${what} requires a private key`, "privateKey");
  }
}
