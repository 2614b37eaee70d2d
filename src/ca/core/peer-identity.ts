import { type Certificate, parseCertificate } from "../../protocol/x509/certificate.ts";
import { parseSpiffeId } from "../../protocol/x509/spiffe-id.ts";
import { verifyChain } from "../../protocol/x509/verify-chain.ts";

/** Roots by trust domain: a certificate proves an identity only under the roots of that identity's own trust domain. */
export type RootPools = ReadonlyMap<string, readonly Certificate[]>;

/** What is wrong with a client's certificate chain (DER, leaf first); undefined when it may pass. */
export function peerProblem(chain: readonly Buffer[], pools: RootPools, now: Date): string | undefined {
  try {
    const [leaf, ...rest] = chain.map(parseCertificate);
    if (leaf === undefined) return "no peer certificate";
    const uris = leaf.names.filter((name) => name.kind === "uri");
    const [uri] = uris;
    if (uri === undefined || uris.length !== 1) {
      return `peer certificate does not contain 1 URI type SAN, detected ${uris.length}`;
    }
    const { trustDomain } = parseSpiffeId(uri.value);
    const pool = pools.get(trustDomain);
    if (pool === undefined) return `no cert pool found for trust domain ${trustDomain}`;
    const verified = verifyChain(leaf, rest, pool, now);
    return verified.ok ? undefined : verified.reason;
  } catch (failure) {
    return failure instanceof Error ? failure.message : String(failure);
  }
}
