import { errorMessage } from "../../base/coded-error.ts";
import type { ClusterApi } from "../cluster/cluster-api.ts";

/** Whether an account may read the Secrets of its namespace, as far as is known now. */
export type AccessVerdict =
  | { readonly state: "allowed" }
  | { readonly state: "denied"; readonly reason: string }
  | { readonly state: "asked" };

export interface AccessReviews {
  /** Answers from what is known, and asks the API server where that is nothing or too old. */
  verdict(namespace: string, account: string): AccessVerdict;
  stop(): void;
}

export interface AccessReviewOptions {
  readonly api: Pick<ClusterApi, "create">;
  /** The verdict on an account may be another than before. */
  readonly onChange: (namespace: string, account: string) => void;
  readonly now?: () => number;
}

interface Known {
  verdict: AccessVerdict;
  until: number;
  isAsking: boolean;
  retry: NodeJS.Timeout | undefined;
}

const RESOURCE = { group: "authorization.k8s.io", version: "v1", plural: "subjectaccessreviews" };
/** An account that may read Secrets seldom loses the right; one that may not is about to get it. */
const ALLOWED_MS = 5 * 60_000;
const DENIED_MS = 60_000;
const FAILED_MS = 10_000;
const MAX_ACCOUNTS = 10_000;

/** SubjectAccessReviews (`list secrets`), cached. A verdict counts until the next one is there, so that proxies are not cut off meanwhile. */
export function createAccessReviews({ api, onChange, now = Date.now }: AccessReviewOptions): AccessReviews {
  const accounts = new Map<string, Known>();
  const ending = new AbortController();
  const review = async (namespace: string, account: string, known: Known): Promise<void> => {
    known.isAsking = true;
    const before = known.verdict;
    try {
      known.verdict = await askFor(api, namespace, account, ending.signal);
      known.until = now() + (known.verdict.state === "allowed" ? ALLOWED_MS : DENIED_MS);
    } catch (thrown) {
      known.until = now() + FAILED_MS;
      if (before.state !== "allowed")
        known.verdict = { state: "denied", reason: `the right to read secrets is not known: ${errorMessage(thrown)}` };
    }
    known.isAsking = false;
    if (ending.signal.aborted) return;
    // Without another question the proxy would wait for a change of its Secret.
    if (known.verdict.state === "denied")
      known.retry = setTimeout(() => onChange(namespace, account), known.until - now() + 1);
    onChange(namespace, account);
  };
  return {
    verdict: (namespace, account) => {
      const key = `${namespace}/${account}`;
      const known = accounts.get(key) ?? { verdict: { state: "asked" }, until: 0, isAsking: false, retry: undefined };
      if (!accounts.has(key)) {
        const [oldest] = accounts.keys();
        if (accounts.size >= MAX_ACCOUNTS && oldest !== undefined) {
          clearTimeout(accounts.get(oldest)?.retry);
          accounts.delete(oldest);
        }
        accounts.set(key, known);
      }
      if (known.until <= now() && !known.isAsking) {
        clearTimeout(known.retry);
        void review(namespace, account, known);
      }
      return known.verdict;
    },
    stop: () => {
      ending.abort();
      for (const { retry } of accounts.values()) clearTimeout(retry);
    },
  };
}

async function askFor(
  api: Pick<ClusterApi, "create">,
  namespace: string,
  account: string,
  signal: AbortSignal,
): Promise<AccessVerdict> {
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: {
      user: `system:serviceaccount:${namespace}:${account}`,
      resourceAttributes: { namespace, verb: "list", resource: "secrets" },
    },
  };
  const { status } = await api.create(RESOURCE, review, { signal });
  const { allowed, reason } = (status ?? {}) as { readonly allowed?: boolean; readonly reason?: string };
  if (allowed === true) return { state: "allowed" };
  const why = (reason ?? "") === "" ? "" : ` (${reason})`;
  const text = `service account ${namespace}/${account} may not list secrets in namespace ${namespace}${why}; give it a Role with verb list on secrets`;
  return { state: "denied", reason: text };
}
