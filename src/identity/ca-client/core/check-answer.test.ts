import { beforeAll, expect, test } from "vitest";
import { createTestCa, HOUR_MS, SPIFFE_ID, type TestCa, validFor } from "../../../../test/support/certs/test-ca.ts";
import { buildCsr } from "../../../protocol/x509/csr.ts";
import { generateKeyPair } from "../../../protocol/x509/key-pair.ts";
import { CaError } from "../ca-error.ts";
import { checkAnswer } from "./check-answer.ts";

const NOW = new Date();
const LEEWAY_MS = 5 * 60_000;
let ca: TestCa;
let other: TestCa;
let keys: Awaited<ReturnType<typeof generateKeyPair>>;
const keyDer = () => keys.publicKey.export({ type: "spki", format: "der" });
const csrFor = (...hosts: readonly string[]) => buildCsr(keys, { hosts });

beforeAll(async () => {
  [ca, other, keys] = await Promise.all([
    createTestCa(),
    createTestCa("elsewhere"),
    generateKeyPair({ type: "ecdsa", curve: "P256" }),
  ]);
});

test("a chain that fits the request is taken as it is, with its last element as the root", async () => {
  const leaf = await ca.issue(keyDer(), [SPIFFE_ID], validFor(HOUR_MS));
  const chain = [leaf, other.rootPem, ca.rootPem];
  const signed = checkAnswer(chain, await csrFor(SPIFFE_ID), NOW);
  expect(signed.chain).toBe(chain);
  expect(signed.roots).toEqual([ca.rootPem]);
  expect(signed.notAfter.getTime() - signed.notBefore.getTime()).toBeCloseTo(HOUR_MS + 120_000, -4);
});

test.each(["", "\n"])("an empty chain file between leaf and root (%j) does no harm", async (empty) => {
  const leaf = await ca.issue(keyDer(), [SPIFFE_ID], validFor(HOUR_MS));
  expect(checkAnswer([leaf, empty, ca.rootPem], await csrFor(SPIFFE_ID), NOW).roots).toEqual([ca.rootPem]);
});

test("a root in an older spelling is handed on in the usual one", async () => {
  const leaf = await ca.issue(keyDer(), [SPIFFE_ID], validFor(HOUR_MS));
  const older = ca.rootPem.replaceAll("CERTIFICATE", "X509 CERTIFICATE");
  const signed = checkAnswer([leaf, older], await csrFor(SPIFFE_ID), NOW);
  expect(signed).toMatchObject({ chain: [leaf, ca.rootPem], roots: [ca.rootPem] });
});

const GARBAGE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

test.each<{ name: string; chain: () => Promise<readonly string[]>; code: string; says: string }>([
  { name: "nothing", chain: async () => [], code: "bad-answer", says: "empty CertChain" },
  {
    name: "a certificate without a root",
    chain: async () => [await ca.issue(keyDer(), [SPIFFE_ID], validFor(HOUR_MS))],
    code: "bad-answer",
    says: "empty CertChain",
  },
  {
    name: "garbage in front",
    chain: async () => [GARBAGE, ca.rootPem],
    code: "bad-answer",
    says: "the first element of the chain is not a certificate",
  },
  {
    name: "garbage in the middle",
    chain: async () => [await ca.issue(keyDer(), [SPIFFE_ID], validFor(HOUR_MS)), other.rootPem, GARBAGE, ca.rootPem],
    code: "bad-answer",
    says: "element 3 of the chain is not a certificate",
  },
  {
    name: "text in the middle",
    chain: async () => [await ca.issue(keyDer(), [SPIFFE_ID], validFor(HOUR_MS)), "no PEM", ca.rootPem],
    code: "bad-answer",
    says: "element 2 of the chain is not a certificate",
  },
  {
    name: "garbage behind the leaf, in its element",
    chain: async () => [(await ca.issue(keyDer(), [SPIFFE_ID], validFor(HOUR_MS))) + GARBAGE, ca.rootPem],
    code: "bad-answer",
    says: "the first element of the chain is not a certificate",
  },
  {
    name: "text at the end",
    chain: async () => [await ca.issue(keyDer(), [SPIFFE_ID], validFor(HOUR_MS)), "no PEM"],
    code: "bad-answer",
    says: "the last element of the chain is not a certificate",
  },
  {
    name: "a chain the wrong way round",
    chain: async () => [ca.rootPem, await ca.issue(keyDer(), [SPIFFE_ID], validFor(HOUR_MS))],
    code: "bad-answer",
    says: "does not start with a workload certificate but with a CA's",
  },
  {
    name: "a certificate for another's key",
    chain: async () => [(await ca.pair([SPIFFE_ID])).cert, ca.rootPem],
    code: "wrong-key",
    says: "another key than the request's",
  },
  {
    name: "an expired certificate",
    chain: async () => [await ca.issue(keyDer(), [SPIFFE_ID], validFor(-60_000)), ca.rootPem],
    code: "expired",
    says: "the certificate expired at 20",
  },
  {
    name: "a certificate that is valid only in an hour",
    chain: async () => {
      const notBefore = new Date(NOW.getTime() + HOUR_MS);
      return [await ca.issue(keyDer(), [SPIFFE_ID], { ...validFor(2 * HOUR_MS), notBefore }), ca.rootPem];
    },
    code: "not-yet-valid",
    says: "the certificate is valid only from 20",
  },
  {
    name: "a certificate without an identity",
    chain: async () => [await ca.issue(keyDer(), ["web.example"], validFor(HOUR_MS)), ca.rootPem],
    code: "wrong-san",
    says: "carries no URI identity",
  },
  {
    name: "the certificate of another account",
    chain: async () => [
      await ca.issue(keyDer(), ["spiffe://cluster.local/ns/default/sa/admin"], validFor(HOUR_MS)),
      ca.rootPem,
    ],
    code: "wrong-san",
    says: "is for spiffe://cluster.local/ns/default/sa/admin, not for service account default/test",
  },
  {
    name: "the same account of another namespace",
    chain: async () => [
      await ca.issue(keyDer(), ["spiffe://cluster.local/ns/other/sa/test"], validFor(HOUR_MS)),
      ca.rootPem,
    ],
    code: "wrong-san",
    says: "not for service account default/test",
  },
  {
    name: "an identity of another form",
    chain: async () => [await ca.issue(keyDer(), ["spiffe://cluster.local/other/form"], validFor(HOUR_MS)), ca.rootPem],
    code: "wrong-san",
    says: "not for service account default/test",
  },
])("an answer with $name is refused as $code", async ({ chain, code, says }) => {
  const [answer, csr] = await Promise.all([chain(), csrFor(SPIFFE_ID)]);
  const check = () => checkAnswer(answer, csr, NOW);
  expect(check).toThrow(CaError);
  expect(check).toThrow(expect.objectContaining({ code, message: expect.stringContaining(says) }));
});

test.each([
  { name: "garbage", junk: GARBAGE },
  { name: "a block that was cut off", junk: "-----BEGIN CERTIFICATE-----\nMIIB" },
])("a trust bundle is taken without $name in it", async ({ junk }) => {
  const leaf = await ca.issue(keyDer(), [SPIFFE_ID], validFor(HOUR_MS));
  const signed = checkAnswer([leaf, `${other.rootPem}${ca.rootPem}${junk}`], await csrFor(SPIFFE_ID), NOW);
  expect(signed.roots).toEqual([other.rootPem + ca.rootPem]);
  expect(signed.chain).toEqual([leaf, other.rootPem + ca.rootPem]);
});

test("a clock of the CA that is five minutes ahead is not a reason to refuse, a second more is", async () => {
  const from = Math.ceil(NOW.getTime() / 1000) * 1000;
  const leaf = await ca.issue(keyDer(), [SPIFFE_ID], { ...validFor(HOUR_MS), notBefore: new Date(from) });
  const csr = await csrFor(SPIFFE_ID);
  const at = (ms: number) => checkAnswer([leaf, ca.rootPem], csr, new Date(from - ms));
  expect(at(LEEWAY_MS).notBefore.getTime()).toBe(from);
  expect(() => at(LEEWAY_MS + 1000)).toThrow(expect.objectContaining({ code: "not-yet-valid" }));
});

test.each([
  { name: "another trust domain", given: ["spiffe://td2/ns/default/sa/test"] },
  { name: "further identities beside it", given: ["spiffe://cluster.local/other/form", SPIFFE_ID, "dns.example"] },
])("the CA decides: $name is taken", async ({ given }) => {
  const leaf = await ca.issue(keyDer(), given, validFor(HOUR_MS));
  expect(checkAnswer([leaf, ca.rootPem], await csrFor(SPIFFE_ID), NOW).chain).toHaveLength(2);
});

test("a request that names no account leaves it to the CA", async () => {
  const leaf = await ca.issue(keyDer(), ["spiffe://cluster.local/ns/any/sa/body"], validFor(HOUR_MS));
  expect(checkAnswer([leaf, ca.rootPem], await csrFor("web.example"), NOW).chain[0]).toBe(leaf);
});
