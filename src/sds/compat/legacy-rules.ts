import type { Metadata } from "../../grpc/index.ts";

/** How releases up to 1.8 authenticate the client. */
export type LegacyToken =
  /** The agent's own token, read for each request: a token that cannot be read ends the stream. */
  | { readonly kind: "local"; read(): Promise<unknown> }
  /** The client sends it with the call. */
  | { readonly kind: "metadata" }
  | { readonly kind: "none" };

const MAX_LISTED = 1024;
const TOKEN_HEADERS = ["istio_sds_credentials_header-bin", "authorization"] as const;

/** Undefined when the client may go on, else why not. */
export function missingToken(metadata: Pick<Metadata, "getAll">): string | undefined {
  for (const header of TOKEN_HEADERS) {
    const values = metadata.getAll(header);
    if (values.length === 0) continue;
    if (values.length === 1 && values[0]?.length !== 0) return undefined;
    return `credential token must have 1 value in gRPC metadata, ${header} has ${values.length}`;
  }
  return "credential token is not found in gRPC metadata";
}

export type LegacyOutcome =
  | { readonly action: "reply"; readonly name: string }
  | { readonly action: "silent" }
  | { readonly action: "fail"; readonly message: string };

/** One name per stream; a version that the client has already is an acknowledgement. */
export function legacyOutcome(
  request: { readonly names: readonly string[]; readonly version: string; readonly isNack: boolean },
  currentVersion: string | undefined,
): LegacyOutcome {
  const [name, ...more] = request.names;
  if (name === undefined) return { action: "silent" };
  if (more.length > 0) {
    // The status travels in a header, which has room for a few kilobytes.
    const list = request.names.join(" ").slice(0, MAX_LISTED);
    return { action: "fail", message: `discovery request has more than one resourceNames [${list}]` };
  }
  if (request.isNack) return { action: "silent" };
  return request.version !== "" && request.version === currentVersion
    ? { action: "silent" }
    : { action: "reply", name };
}

/** "03-01 12:00:00.123": the moment a secret was made is its version, and the nonce of the answer that carries it. */
export function legacyVersion(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(5, 23).replace("T", " ");
}
