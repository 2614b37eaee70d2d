import type { Problem } from "../validation/report.ts";

/** A Secret of a rule folder or of the config API. Plain data, as it goes from thread to thread; it must never be shown. */
export interface CredentialDocument {
  readonly namespace: string;
  readonly name: string;
  /** Base64 by key, of the keys that credentials are read from; absent when the document has errors. */
  readonly data?: Readonly<Record<string, string>>;
}

/** Where the logins of registries are that modules are fetched from. */
export const PULL_SECRET_KEY = ".dockerconfigjson";

/** Keys of certificates, keys and revocation lists, and of logins; what else a Secret holds is not held in memory. */
export const CREDENTIAL_KEYS = [
  "tls.crt",
  "tls.key",
  "tls.ocsp-staple",
  "ca.crt",
  "ca.crl",
  "cert",
  "key",
  "cacert",
  "crl",
  PULL_SECRET_KEY,
] as const;

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** `data` (base64) and `stringData` (text) of a Secret. Problems name keys, never values. */
export function decodeCredential(
  { data, stringData }: Readonly<Record<string, unknown>>,
  ref: Pick<CredentialDocument, "namespace" | "name">,
): { readonly credential: CredentialDocument; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const refuse = (path: Problem["path"], message: string) => problems.push({ path, message, severity: "error" });
  const members = (name: "data" | "stringData", value: unknown): Readonly<Record<string, unknown>> => {
    if (value === undefined || value === null) return {};
    if (typeof value === "object" && !Array.isArray(value)) return value as Readonly<Record<string, unknown>>;
    refuse([name], "expected an object of texts by key");
    return {};
  };
  const encoded = members("data", data);
  const plain = members("stringData", stringData);
  const found: Record<string, string> = {};
  for (const key of CREDENTIAL_KEYS) {
    const [text, value] = [plain[key], encoded[key]];
    if (typeof text === "string") found[key] = Buffer.from(text).toString("base64");
    else if (text !== undefined) refuse(["stringData", key], "expected text");
    else if (typeof value === "string") {
      const compact = value.replaceAll(/\s/g, "");
      if (BASE64.test(compact)) found[key] = compact;
      else refuse(["data", key], "expected base64; text as it is goes into stringData");
    } else if (value !== undefined) refuse(["data", key], "expected base64 text");
  }
  if (problems.length === 0 && Object.keys(found).length === 0)
    problems.push({
      path: [],
      message: `none of the keys that credentials are read from: ${CREDENTIAL_KEYS.join(", ")}`,
      severity: "warning",
    });
  return {
    credential: problems.some(({ severity }) => severity === "error") ? ref : { ...ref, data: found },
    problems,
  };
}
