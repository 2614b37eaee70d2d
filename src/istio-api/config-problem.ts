import type { JsonProblem } from "../protobuf/json/read-message.ts";
import { isSecretField } from "./redact.ts";

/** One thing the user has to change. */
export interface ConfigProblem {
  /** Where the value came from: "environment variable PROXY_CONFIG", "annotation proxy.istio.io/config", "flag --concurrency". */
  readonly source: string;
  /** What is wrong, in the words the reference uses where it has any. */
  readonly message: string;
  /** Dotted path inside a structured source, for example `tracing.zipkin.address`. */
  readonly field?: string;
  /** The value found; never a secret. */
  readonly value?: string;
  readonly allowed?: string;
}

/** A value that does not fit its field: the reference's words, and where it was. */
export interface DecodeProblem extends Pick<JsonProblem, "message" | "value" | "allowed"> {
  readonly path: string;
}

/** The reference never names the field; we add it. */
export function describeDecodeProblems(problems: readonly DecodeProblem[]): string {
  return problems.map(({ message, path }) => (path === "" ? message : `${message} (field ${path})`)).join("; ");
}

export function toConfigProblems(problems: readonly DecodeProblem[], source: string): readonly ConfigProblem[] {
  return problems.map(({ path, message, value, allowed }) => ({
    source,
    message,
    ...(path !== "" && { field: path }),
    ...(isScalar(value) && !isSecretField(path) && { value: String(value) }),
    ...(allowed !== "" && { allowed }),
  }));
}

function isScalar(value: unknown): boolean {
  return ["string", "number", "bigint", "boolean"].includes(typeof value);
}
