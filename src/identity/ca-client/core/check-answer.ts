import { errorMessage } from "../../../base/coded-error.ts";
import { type Certificate, parsePemCertificate } from "../../../protocol/x509/certificate.ts";
import { parseCsr } from "../../../protocol/x509/csr.ts";
import { parseSpiffeId, type SpiffeId } from "../../../protocol/x509/spiffe-id.ts";
import { CaError, type CaErrorCode } from "../ca-error.ts";
import type { SignedCertificate } from "../types.ts";

/** A CA's clock may be ahead of ours by this much. */
const NOT_BEFORE_LEEWAY_MS = 5 * 60_000;

/** The CA's answer as a certificate that fits the request. Throws a `CaError` that says what does not fit. */
export function checkAnswer(chain: readonly string[], csrPem: string, now: Date): SignedCertificate {
  const [leafPem] = chain;
  const root = chain[chain.length - 1];
  if (leafPem === undefined || root === undefined || chain.length < 2)
    throw problem("bad-answer", "invalid empty CertChain");
  const leaf = parsed(leafPem, "the first element");
  parsed(root, "the last element");
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
  return { chain, roots: [root], notBefore: leaf.notBefore, notAfter: leaf.notAfter };
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

function parsed(pem: string, which: string): Certificate {
  try {
    return parsePemCertificate(pem);
  } catch (cause) {
    throw problem("bad-answer", `${which} of the chain is not a certificate: ${errorMessage(cause)}`);
  }
}

function problem(code: CaErrorCode, text: string): CaError {
  return new CaError(code, text);
}
