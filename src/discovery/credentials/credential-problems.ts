import type { ConfigObject } from "../../istio-api/config-object.ts";
import { ROOTS_SUFFIX } from "./core/credential-name.ts";

/** A credential that a connected proxy asks for and does not get. */
export interface CredentialProblem {
  readonly resource: string;
  /** Of the proxies that ask. */
  readonly namespace: string;
  readonly reason: string;
  /** Those that name it. */
  readonly gateways: readonly ConfigObject<"Gateway">[];
}

/** What one client did not get. */
export interface Unanswered {
  readonly namespace: string;
  readonly reasons: ReadonlyMap<string, string>;
  readonly gateways: readonly ConfigObject<"Gateway">[];
}

/** Proxies of one namespace miss the same. */
export function mergeProblems(clients: Iterable<Unanswered>): readonly CredentialProblem[] {
  const problems = new Map<string, CredentialProblem>();
  for (const { namespace, reasons, gateways } of clients) {
    for (const [resource, reason] of reasons) {
      const key = `${namespace} ${resource}`;
      const known = problems.get(key)?.gateways ?? [];
      const named = gateways.filter((gateway) => refersTo(gateway, resource));
      problems.set(key, { resource, namespace, reason, gateways: [...new Set([...known, ...named])] });
    }
  }
  return [...problems.values()];
}

function refersTo({ spec }: ConfigObject<"Gateway">, resource: string): boolean {
  return spec.servers.some(({ tls }) => {
    if (tls === undefined) return false;
    const stored = [tls.credentialName, ...tls.credentialNames].filter((name) => name !== "");
    const names = [...stored, ...stored.map((name) => `${name}${ROOTS_SUFFIX}`), tls.caCertCredentialName];
    return names.some((name) => name === resource || `kubernetes://${name}` === resource);
  });
}
