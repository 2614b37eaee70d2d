/** Who a workload is: what its certificate says. */
export interface WorkloadIdentity {
  readonly trustDomain: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

export function formatSpiffe({ trustDomain, namespace, serviceAccount }: WorkloadIdentity): string {
  return `spiffe://${trustDomain}/ns/${namespace}/sa/${serviceAccount}`;
}

/** Undefined for anything that is not `spiffe://TD/ns/NS/sa/SA`. */
export function parseSpiffe(uri: string): WorkloadIdentity | undefined {
  const [, trustDomain, namespace, serviceAccount] = /^spiffe:\/\/([^/]+)\/ns\/([^/]+)\/sa\/([^/]+)$/.exec(uri) ?? [];
  if (trustDomain === undefined || namespace === undefined || serviceAccount === undefined) return undefined;
  return { trustDomain, namespace, serviceAccount };
}
