import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { makeCertificate, type TestCertificate } from "../../../test/support/certs/certificates.ts";
import { type Certificate, isIssuedBy, parseCertificate } from "../../protocol/x509/certificate.ts";
import { buildCertificate } from "../../protocol/x509/certificate-builder.ts";
import { generateKeyPair } from "../../protocol/x509/key-pair.ts";
import { parseName } from "../../protocol/x509/name.ts";
import { type LeafRequest, leafFields, omitsCommonName } from "./leaf-certificate.ts";

const NOW = new Date();
const ID = "spiffe://cluster.local/ns/default/sa/web";
let signer: TestCertificate;
let signerCertificate: Certificate;
let publicKeyDer: Buffer;
beforeAll(async () => {
  signer = await makeCertificate({ organization: "signer" });
  signerCertificate = parseCertificate(signer.der);
  const { publicKey } = await generateKeyPair({ type: "ecdsa", curve: "P256" });
  publicKeyDer = publicKey.export({ type: "spki", format: "der" });
});

const request = (change: Partial<LeafRequest> = {}): LeafRequest => ({
  publicKeyDer,
  identities: [ID],
  withCommonName: false,
  ttlMs: 60_000,
  serial: Buffer.of(7),
  ...change,
});
const issue = async (change: Partial<LeafRequest> = {}) =>
  parseCertificate(await buildCertificate(leafFields(request(change), signerCertificate, NOW), signer.keys.privateKey));

test("a leaf carries its identities in order, is signed, and never outlives its signer", async () => {
  const identity = fc.oneof(
    fc
      .tuple(fc.domain(), fc.stringMatching(/^[a-z0-9-]{1,20}$/), fc.stringMatching(/^[a-z0-9-]{1,20}$/))
      .map(([domain, namespace, account]) => `spiffe://${domain}/ns/${namespace}/sa/${account}`),
    fc.domain(),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(identity, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 10 ** 12 }),
      async (identities, ttlMs) => {
        const leaf = await issue({ identities, ttlMs });
        expect(leaf.names.map((name) => name.value)).toEqual(identities);
        expect(isIssuedBy(leaf, signerCertificate)).toBe(true);
        expect(leaf.isCa).toBe(false);
        expect(leaf.notAfter.getTime()).toBeLessThanOrEqual(signerCertificate.notAfter.getTime());
        expect(leaf.notBefore.getTime()).toBeLessThan(NOW.getTime() - 119_000);
      },
    ),
    { numRuns: 50 },
  );
});

test.each([
  { what: "without a common name", change: {}, subject: [], omitted: false },
  { what: "with one", change: { withCommonName: true }, subject: [{ oid: "2.5.4.3", value: ID }], omitted: false },
  {
    what: "with one over 64 characters",
    change: { withCommonName: true, identities: [`spiffe://td/ns/n/sa/${"x".repeat(60)}`] },
    subject: [],
    omitted: true,
  },
])("for a CSR $what the subject is $subject", async ({ change, subject, omitted }) => {
  expect(parseName((await issue(change)).subject)).toEqual(subject);
  expect(omitsCommonName(request(change))).toBe(omitted);
});

test("an expired signer signs nothing", () => {
  const late = new Date(signerCertificate.notAfter.getTime());
  expect(() => leafFields(request(), signerCertificate, late)).toThrow(
    expect.objectContaining({ code: "CERT_GEN_ERROR", message: expect.stringContaining("has expired at") }),
  );
});
