import { CodedError } from "../../base/coded-error.ts";

export class SpiffeError extends CodedError<"not-spiffe"> {}

export interface SpiffeId {
  readonly trustDomain: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

const PREFIX = "spiffe://";

/** `spiffe://TD/ns/NS/sa/SA`, parts verbatim: a CSR keeps what the environment said, even empty parts. */
export function formatSpiffeId(id: SpiffeId): string {
  return `${PREFIX}${id.trustDomain}/ns/${id.namespace}/sa/${id.serviceAccount}`;
}

/** The form a CA writes into certificates: `@`, which some trust domains carry, is not a character of a URI's host. */
export function workloadIdentity(trustDomain: string, namespace: string, serviceAccount: string): string {
  return formatSpiffeId({ trustDomain: trustDomain.replaceAll("@", "."), namespace, serviceAccount });
}

export function parseSpiffeId(uri: string): SpiffeId {
  const [trustDomain, ns, namespace, sa, serviceAccount, ...more] = uri.slice(PREFIX.length).split("/");
  const complete = trustDomain !== undefined && namespace !== undefined && serviceAccount !== undefined;
  if (!uri.startsWith(PREFIX) || ns !== "ns" || sa !== "sa" || !complete || more.length > 0) {
    throw new SpiffeError("not-spiffe", "identity is not a spiffe format");
  }
  return { trustDomain, namespace, serviceAccount };
}
