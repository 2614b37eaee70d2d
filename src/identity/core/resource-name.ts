/** What a secret name of the SDS protocol asks the agent for. */
export type ResourceName =
  | { readonly kind: "workload" }
  | { readonly kind: "trust-bundle" }
  | { readonly kind: "file-key-pair"; readonly certificatePath: string; readonly keyPath: string }
  | { readonly kind: "file-root"; readonly path: string }
  | { readonly kind: "system-root" }
  /** Neither ours nor a well-formed file name. `file` tells a malformed file name from one the agent was never meant to know. */
  | { readonly kind: "unknown"; readonly file: boolean };

export const WORKLOAD_NAME = "default";
export const TRUST_BUNDLE_NAME = "ROOTCA";

const CERT_PREFIX = "file-cert:";
const ROOT_PREFIX = "file-root:";
/** Separates certificate and key path; a path that contains it cannot be named. */
const SEPARATOR = "~";

/** Empty parts ("file-root:", "file-cert:a~") are malformed: there is no file to read. */
export function parseResourceName(name: string): ResourceName {
  if (name === WORKLOAD_NAME) return { kind: "workload" };
  if (name === TRUST_BUNDLE_NAME) return { kind: "trust-bundle" };
  if (name.startsWith(CERT_PREFIX)) return parseKeyPair(name.slice(CERT_PREFIX.length));
  if (name.startsWith(ROOT_PREFIX)) return parseRoot(name.slice(ROOT_PREFIX.length));
  return { kind: "unknown", file: false };
}

function parseKeyPair(paths: string): ResourceName {
  const [certificatePath = "", keyPath = "", ...more] = paths.split(SEPARATOR);
  if (!isPath(certificatePath) || !isPath(keyPath) || more.length > 0) return { kind: "unknown", file: true };
  return { kind: "file-key-pair", certificatePath, keyPath };
}

function parseRoot(path: string): ResourceName {
  if (path === "system") return { kind: "system-root" };
  if (!isPath(path) || path.includes(SEPARATOR)) return { kind: "unknown", file: true };
  return { kind: "file-root", path };
}

/** A NUL byte cannot be part of a path; the file system calls throw on it. */
function isPath(text: string): boolean {
  return text !== "" && !text.includes("\0");
}
