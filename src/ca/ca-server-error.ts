import { CodedError } from "../base/coded-error.ts";

/** Why a CSR was not signed; the code is also the `error` label of the metric. */
export class SignError extends CodedError<"CA_NOT_READY" | "CSR_ERROR" | "TTL_ERROR" | "CERT_GEN_ERROR"> {}

/** Why the CA's own key material cannot be used. Messages name files and causes, never content. */
export class CaMaterialError extends CodedError<
  | "incomplete-bundle"
  | "unreadable"
  | "unwritable"
  | "bad-certificate"
  | "bad-key"
  | "key-mismatch"
  | "not-a-ca"
  | "broken-chain"
  | "expired"
  | "missing-crl"
  | "root-changed"
> {}
