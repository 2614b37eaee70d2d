import type { Secret } from "../../base/secret.ts";
import { Metadata, MetadataError } from "../../grpc/index.ts";
import { CaError } from "./ca-error.ts";

export interface CallMetadataParts {
  readonly headers: Readonly<Record<string, string>>;
  readonly token: Secret | undefined;
  /** From 1. */
  readonly attempt: number;
}

/** The metadata of one attempt. Names are sent in lower case, underscores unchanged. */
export function callMetadata(parts: CallMetadataParts): Metadata {
  try {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(parts.headers)) metadata.set(name, value);
    if (parts.token !== undefined) metadata.set("authorization", `Bearer ${parts.token.reveal()}`);
    if (parts.attempt > 1) metadata.set("x-retry-attempt", String(parts.attempt - 1));
    return metadata;
  } catch (cause) {
    if (!(cause instanceof MetadataError)) throw cause;
    throw new CaError("bad-config", `cannot call the CA: ${cause.message}`, { cause });
  }
}
