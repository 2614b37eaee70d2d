import { expect, test } from "vitest";
import { makeCertificate } from "../../test/support/certs/certificates.ts";
import { describeCertificates } from "./start-secret-manager.ts";

const HOSTS = ["spiffe://td/ns/n/sa/web", "web.example", "10.0.0.1"];

test("a chain is reported certificate by certificate, names with their kinds", async () => {
  const root = await makeCertificate({ organization: "root" });
  const { pem } = await makeCertificate({ by: root, isCa: false, hosts: HOSTS, organization: "leaf" });
  const described = describeCertificates("default", pem + root.pem, { source: "ca" });
  expect(described).toMatchObject({ resource: "default", source: "ca" });
  expect(described.certificates).toMatchObject([
    { subject: "O=leaf", issuer: "O=root", subjectAltNames: [`URI:${HOSTS[0]}`, "DNS:web.example", "IP:10.0.0.1"] },
    { subject: "O=root", issuer: "O=root", subjectAltNames: [] },
  ]);
});

test("what is not a certificate is reported as such and does not hide the others", async () => {
  const { pem } = await makeCertificate({ organization: "good" });
  const garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  const { certificates } = describeCertificates("file-cert:a~b", pem + garbage, { source: "file" });
  expect(certificates.map(({ subject }) => subject)).toEqual(["O=good", "(not a certificate)"]);
});

test("keys beside the certificates are not reported", async () => {
  const { pem, keyPem } = await makeCertificate({ organization: "both" });
  const described = describeCertificates("file-cert:a~a", keyPem + pem, { source: "file" });
  expect(described.certificates).toHaveLength(1);
  expect(JSON.stringify(described)).not.toContain(keyPem.split("\n")[1]);
});
