import { expect, test } from "vitest";
import {
  exactSans,
  fileRootName,
  sdsSecret,
  trustDomainSans,
  withTrustDomainAliases,
  workloadTls,
} from "./workload-tls.ts";

test("a workload shows the agent's certificate and trusts the mesh's roots", () => {
  const context = workloadTls({ alpnProtocols: ["istio"], sans: exactSans(["spiffe://td/ns/a/sa/b"]) });
  expect(context).toEqual({
    tlsParams: { tlsMinimumProtocolVersion: "TLSv1_2", tlsMaximumProtocolVersion: "TLSv1_3" },
    alpnProtocols: ["istio"],
    tlsCertificateSdsSecretConfigs: [sdsSecret("default")],
    combinedValidationContext: {
      defaultValidationContext: {
        matchTypedSubjectAltNames: [{ sanType: "URI", matcher: { exact: "spiffe://td/ns/a/sa/b" } }],
      },
      validationContextSdsSecretConfig: sdsSecret("ROOTCA"),
    },
  });
});

test("files that the proxy was configured to use take the place of both secrets", () => {
  const context = workloadTls({
    files: { certificateChain: "/c.pem", privateKey: "/k.pem", rootCertificate: "/r.pem" },
    cipherSuites: ["ECDHE-ECDSA-AES256-GCM-SHA384"],
  });
  expect(context.tlsCertificateSdsSecretConfigs?.map(({ name }) => name)).toEqual(["file-cert:/c.pem~/k.pem"]);
  expect(context.combinedValidationContext?.validationContextSdsSecretConfig?.name).toBe("file-root:/r.pem");
  expect(context.tlsParams?.cipherSuites).toEqual(["ECDHE-ECDSA-AES256-GCM-SHA384"]);
  expect(context).not.toHaveProperty("alpnProtocols");
});

test("the common secrets are one value each, and all come from the agent", () => {
  expect(sdsSecret("default")).toBe(sdsSecret("default"));
  expect(sdsSecret("ROOTCA")).toBe(sdsSecret("ROOTCA"));
  for (const name of ["default", "ROOTCA", "file-root:/x"]) {
    expect(sdsSecret(name)).toMatchObject({
      name,
      sdsConfig: { apiConfigSource: { apiType: "GRPC", grpcServices: [{ envoyGrpc: { clusterName: "sds-grpc" } }] } },
    });
  }
});

test("no root file means the roots of the operating system", () => {
  expect([fileRootName(""), fileRootName("/ca.pem")]).toEqual(["file-root:system", "file-root:/ca.pem"]);
});

test("names are sorted, each once, and typed by their form", () => {
  expect(exactSans(["web.example", "spiffe://td/ns/a/sa/b", "10.0.0.1", "2001:db8::1", "web.example"])).toEqual([
    { sanType: "IP_ADDRESS", matcher: { exact: "10.0.0.1" } },
    { sanType: "IP_ADDRESS", matcher: { exact: "2001:db8::1" } },
    { sanType: "URI", matcher: { exact: "spiffe://td/ns/a/sa/b" } },
    { sanType: "DNS", matcher: { exact: "web.example" } },
  ]);
});

test("every workload of a trust domain is meant by its prefix", () => {
  expect(trustDomainSans(["td", "old", "td"])).toEqual([
    { sanType: "URI", matcher: { prefix: "spiffe://td/" } },
    { sanType: "URI", matcher: { prefix: "spiffe://old/" } },
  ]);
});

test.each([
  { aliases: [], names: ["spiffe://td/ns/a/sa/b"], gives: ["spiffe://td/ns/a/sa/b"] },
  {
    aliases: ["old"],
    names: ["spiffe://td/ns/a/sa/b", "web.example"],
    gives: ["spiffe://td/ns/a/sa/b", "spiffe://old/ns/a/sa/b", "web.example"],
  },
  {
    aliases: ["old", "new"],
    names: ["spiffe://foreign/ns/a/sa/b"],
    gives: ["spiffe://foreign/ns/a/sa/b", "spiffe://old/ns/a/sa/b", "spiffe://new/ns/a/sa/b"],
  },
  {
    aliases: ["old"],
    names: ["spiffe://td/x", "spiffe://td/ns/a/sa/b/c"],
    gives: ["spiffe://td/x", "spiffe://td/ns/a/sa/b/c"],
  },
])("with aliases $aliases, $names are accepted as $gives", ({ aliases, names, gives }) => {
  expect(withTrustDomainAliases(names, aliases)).toEqual(gives);
});
