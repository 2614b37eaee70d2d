import { createPublicKey, type KeyObject } from "node:crypto";
import type { CaClient, SignedCertificate } from "../../../src/identity/ca-client/types.ts";
import { parseCsr } from "../../../src/protocol/x509/csr.ts";
import { makeCertificate } from "./certificates.ts";

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
  const root = await makeCertificate({ organization, ...validFor(24 * HOUR_MS) });
  const leaf = (hosts: readonly string[], validity: TestValidity, publicKey?: KeyObject) => {
    const keys = publicKey && { keys: { publicKey, privateKey: root.keys.privateKey } };
    return makeCertificate({ by: root, isCa: false, hosts, ...validity, ...keys });
  };
  return {
    rootPem: root.pem,
    issue: async (publicKeyDer, hosts, validity) => {
      const publicKey = createPublicKey({ key: publicKeyDer, type: "spki", format: "der" });
      return (await leaf(hosts, validity, publicKey)).pem;
    },
    pair: async (hosts, validity = validFor(HOUR_MS)) => {
      const { pem, keyPem } = await leaf(hosts, validity);
      return { cert: pem, key: keyPem };
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
