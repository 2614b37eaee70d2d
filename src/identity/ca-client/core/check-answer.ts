import { errorMessage } from "../../../base/coded-error.ts";
import { type Certificate, parseCertificate } from "../../../protocol/x509/certificate.ts";
import { parseCsr } from "../../../protocol/x509/csr.ts";
import { parsePemCertificates } from "../../../protocol/x509/pem.ts";
import { parseSpiffeId, type SpiffeId } from "../../../protocol/x509/spiffe-id.ts";
import { parseTrustBundle } from "../../../protocol/x509/trust-bundle.ts";
import { splitBundle } from "../../core/trust-bundle.ts";
import { CaError, type CaErrorCode } from "../ca-error.ts";
import type { SignedCertificate } from "../types.ts";

/** A CA's clock may be ahead of ours by this much. */
const NOT_BEFORE_LEEWAY_MS = 5 * 60_000;

/** The CA's answer as a certificate that fits the request. Throws a `CaError` that says what does not fit. */
export function checkAnswer(chain: readonly string[], csrPem: string, now: Date): SignedCertificate {
  const [leafPem, ...more] = chain;
  const root = more.pop();
  if (leafPem === undefined || root === undefined) throw problem("bad-answer", "invalid empty CertChain");
  const leaf = parsed(leafPem, "the first element");
  for (const [index, element] of more.entries()) {
    // An empty chain file, which some CAs send as an element of its own.
    if (element.trim() !== "") parsed(element, `element ${index + 2}`);
  }
  const roots = usable(root);
  const csr = parseCsr(csrPem);
  if (!leaf.publicKeyDer.equals(csr.publicKeyDer)) {
    if (leaf.isCa) throw problem("bad-answer", "the chain does not start with a workload certificate but with a CA's");
    throw problem("wrong-key", "the certificate is for another key than the request's");
  }
  if (leaf.notAfter <= now) throw problem("expired", `the certificate expired at ${leaf.notAfter.toISOString()}`);
  if (leaf.notBefore.getTime() > now.getTime() + NOT_BEFORE_LEEWAY_MS) {
    throw problem("not-yet-valid", `the certificate is valid only from ${leaf.notBefore.toISOString()}`);
  }
  checkIdentity(uris(csr.names), uris(leaf.names));
  const { notBefore, notAfter } = leaf;
  return { chain: roots === root ? chain : [leafPem, ...more, roots], roots: [roots], notBefore, notAfter };
}

/**
 * The CA decides on the identity, from the token: it may know the trust domain under another name, and a request may leave namespace
 * or account open. A certificate of another service account, or of none, is never taken.
 */
function checkIdentity(asked: readonly string[], given: readonly string[]): void {
  if (given.length === 0) throw problem("wrong-san", "the certificate carries no URI identity");
  for (const wanted of asked.flatMap(spiffe)) {
    if (wanted.namespace === "" || wanted.serviceAccount === "") continue;
    if (given.flatMap(spiffe).some((id) => isSameAccount(id, wanted))) continue;
    const account = `${wanted.namespace}/${wanted.serviceAccount}`;
    throw problem("wrong-san", `the certificate is for ${given.join(", ")}, not for service account ${account}`);
  }
}

function isSameAccount(one: SpiffeId, other: SpiffeId): boolean {
  return one.namespace === other.namespace && one.serviceAccount === other.serviceAccount;
}

function uris(names: Certificate["names"]): string[] {
  return names.filter((name) => name.kind === "uri").map((name) => name.value);
}

function spiffe(uri: string): SpiffeId[] {
  try {
    return [parseSpiffeId(uri)];
  } catch {
    return [];
  }
}

/** The first certificate of the element; all the others have to be some, too: a proxy refuses the chain for one that is not. */
function parsed(pem: string, which: string): Certificate {
  try {
    const [first] = parsePemCertificates(pem).map(parseCertificate);
    if (first !== undefined) return first;
  } catch (cause) {
    throw problem("bad-answer", `${which} of the chain is not a certificate: ${errorMessage(cause)}`);
  }
  throw problem("bad-answer", `${which} of the chain is not a certificate: no PEM certificate in it`);
}

/** The trust bundle as it came; without what would make a proxy refuse all of it, and in the usual spelling, where it has other. */
function usable(root: string): string {
  const { pem, count, problems } = parseTrustBundle(root);
  if (count === 0) throw problem("bad-answer", "the last element of the chain is not a certificate");
  return problems.length === 0 && splitBundle(root).length === count ? root : pem;
}

function problem(code: CaErrorCode, text: string): CaError {
  return new CaError(code, text);
}
