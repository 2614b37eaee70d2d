import type { CaClient, SignedCertificate } from "../../../src/identity/ca-client/types.ts";
import { buildCertificate, certificateExtension } from "../../../src/protocol/x509/certificate-builder.ts";
import { parseCsr } from "../../../src/protocol/x509/csr.ts";
import { encodePrivateKey, generateKeyPair } from "../../../src/protocol/x509/key-pair.ts";
import { buildName } from "../../../src/protocol/x509/name.ts";
import { encodePem } from "../../../src/protocol/x509/pem.ts";

export interface TestCa {
  readonly rootPem: string;
  /** A leaf for these names and this public key. */
  issue(publicKeyDer: Buffer, hosts: readonly string[], validity: TestValidity): Promise<string>;
  /** A leaf with a new key. */
  pair(hosts: readonly string[], validity?: TestValidity): Promise<{ readonly cert: string; readonly key: string }>;
}

export interface TestValidity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export const HOUR_MS = 3_600_000;
export const SPIFFE_ID = "spiffe://cluster.local/ns/default/sa/test";

/** Real certificates from a CA that lives in the test process. */
export async function createTestCa(organization = "cluster.local"): Promise<TestCa> {
  const keys = await generateKeyPair({ type: "ecdsa", curve: "P256" });
  const name = buildName({ organization });
  const publicKeyDer = keys.publicKey.export({ type: "spki", format: "der" });
  const rootDer = await buildCertificate(
    {
      issuer: name,
      subject: name,
      ...validFor(24 * HOUR_MS),
      publicKeyDer,
      extensions: [certificateExtension.basicConstraints(true), certificateExtension.caKeyUsage()],
    },
    keys.privateKey,
  );
  const issue: TestCa["issue"] = async (leafKeyDer, hosts, validity) => {
    const extensions = [
      certificateExtension.leafKeyUsage(),
      certificateExtension.basicConstraints(false),
      certificateExtension.subjectAltName(hosts),
    ];
    const subject = buildName({});
    const fields = { issuer: name, subject, ...validity, publicKeyDer: leafKeyDer, extensions };
    return encodePem("CERTIFICATE", await buildCertificate(fields, keys.privateKey));
  };
  return {
    rootPem: encodePem("CERTIFICATE", rootDer),
    issue,
    pair: async (hosts, validity = validFor(HOUR_MS)) => {
      const leaf = await generateKeyPair({ type: "ecdsa", curve: "P256" });
      const cert = await issue(leaf.publicKey.export({ type: "spki", format: "der" }), hosts, validity);
      return { cert, key: encodePrivateKey(leaf.privateKey, true).reveal() };
    },
  };
}

/** A certificate cuts the times to whole seconds: what is shorter than a few seconds is for tests that look at no certificate. */
export function validFor(ms: number, fromMs = Date.now()): TestValidity {
  return { notBefore: new Date(fromMs - 120_000), notAfter: new Date(fromMs + ms) };
}

export interface TestCaClient extends CaClient {
  /** CSRs that were answered or refused. */
  readonly calls: number;
  /** Replaces the behaviour for all following calls; undefined goes back to signing. */
  answer: ((signal: AbortSignal) => Promise<SignedCertificate>) | undefined;
  ca: TestCa;
  ttlMs: number;
}

/** A CA client whose answers the test sets; by default it signs at once. */
export function createTestCaClient(ca: TestCa, ttlMs = HOUR_MS, now: () => number = Date.now): TestCaClient {
  let calls = 0;
  const client: TestCaClient = {
    ca,
    ttlMs,
    answer: undefined,
    get calls() {
      return calls;
    },
    sign: async (csrPem, _ttlSeconds, signal) => {
      calls += 1;
      if (client.answer !== undefined) return client.answer(signal);
      const csr = await parseCsr(csrPem);
      const validity = validFor(client.ttlMs, now());
      const leaf = await client.ca.issue(
        csr.publicKeyDer,
        csr.names.map((name) => name.value),
        validity,
      );
      return { chain: [leaf, client.ca.rootPem], roots: [client.ca.rootPem], ...validity };
    },
    close: async () => undefined,
  };
  return client;
}
