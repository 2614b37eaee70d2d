import { parseJwt } from "../protocol/jwt.ts";
import type { TokenFetcher } from "./tokens/token-fetcher.ts";

export interface WorkloadNames {
  readonly trustDomain: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

const SUBJECT = /^system:serviceaccount:([^:]+):([^:]+)$/;

/** Up to 1.7 nothing but the token's subject tells who the workload is; variables that say so all the same go first. */
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

/** The SPIFFE id of this workload. */
export function workloadSpiffeId({ trustDomain, namespace, serviceAccount }: WorkloadNames): string {
  return `spiffe://${trustDomain}/ns/${namespace}/sa/${serviceAccount}`;
}
