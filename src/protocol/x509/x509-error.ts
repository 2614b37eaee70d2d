import { CodedError } from "../../base/coded-error.ts";

/** Bytes or options that make no X.509 object. Messages name the structure, never its content: it may be a key. */
export class X509Error extends CodedError<"bad-pem" | "bad-der" | "bad-csr" | "bad-key" | "bad-certificate"> {}
