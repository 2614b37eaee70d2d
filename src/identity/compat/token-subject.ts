import { parseJwt } from "../../protocol/jwt.ts";
import type { TokenFetcher } from "../tokens/token-fetcher.ts";
import type { WorkloadNames } from "../workload-identity.ts";

const SUBJECT = /^system:serviceaccount:([^:]+):([^:]+)$/;

/** Up to 1.7 the token's subject names the workload; variables that name it go first. */
export async function withTokenSubject(names: WorkloadNames, tokens: TokenFetcher | undefined): Promise<WorkloadNames> {
  const trustDomain = names.trustDomain || "cluster.local";
  if (names.namespace !== "" && names.serviceAccount !== "") return { ...names, trustDomain };
  const [, namespace, serviceAccount] = SUBJECT.exec(subjectOf((await tokens?.fetch())?.reveal())) ?? [];
  if (namespace === undefined || serviceAccount === undefined) return { ...names, trustDomain };
  return { trustDomain, namespace, serviceAccount };
}

function subjectOf(token: string | undefined): string {
  try {
    return token === undefined ? "" : String(parseJwt(token).claims.sub ?? "");
  } catch {
    return "";
  }
}
