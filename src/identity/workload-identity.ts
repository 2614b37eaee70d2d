export interface WorkloadNames {
  readonly trustDomain: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/** The SPIFFE id of this workload. */
export function workloadSpiffeId({ trustDomain, namespace, serviceAccount }: WorkloadNames): string {
  return `spiffe://${trustDomain}/ns/${namespace}/sa/${serviceAccount}`;
}
