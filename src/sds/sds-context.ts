import { randomUUID } from "node:crypto";
import type { Logger } from "../base/logger.ts";
import { any } from "../protobuf/wire/discovery.ts";
import { createResourceSet } from "../xds/resource-set.ts";
import type { ResourceSet } from "../xds/resource-source.ts";
import { SECRET_TYPE } from "../xds/type-urls.ts";
import { encodeSecret, type PrivateKeyProvider } from "./core/encode-secret.ts";
import type { SdsMetrics } from "./metrics.ts";
import type { SecretSource, SourceSecret } from "./secret-source.ts";

/** What all streams of one server share. */
export interface SdsContext {
  readonly source: SecretSource;
  readonly metrics: SdsMetrics;
  readonly log: Logger;
  /** Undefined: a client may take as long as it likes to read an answer. */
  readonly sendTimeoutMs: number | undefined;
  readonly nodeIds: NodeIds;
  nextConnection(): number;
  nextVersion(): string;
  nextNonce(): string;
  /** Encoded once for all streams. */
  encode(secret: SourceSecret): Buffer;
  /** Of one secret, which is the usual case, the same value for all streams. */
  toSet(secrets: readonly SourceSecret[], typeUrl: string): ResourceSet;
}

/** Release 1.20 took well-formed ids only: "type~address~name.namespace~domain". */
export type NodeIds = "any" | "four-part";

export interface SdsContextOptions {
  readonly source: SecretSource;
  readonly metrics: SdsMetrics;
  readonly log: Logger;
  readonly sendTimeoutMs?: number | undefined;
  readonly nodeIds?: NodeIds | undefined;
  readonly privateKeyProvider?: PrivateKeyProvider | undefined;
}

export function createSdsContext(options: SdsContextOptions): SdsContext {
  // Weak: the bytes hold a key and must not outlive the secret they come from.
  const encoded = new WeakMap<SourceSecret, Buffer>();
  const sets = new WeakMap<SourceSecret, ResourceSet>();
  const encode = (secret: SourceSecret) => {
    const known = encoded.get(secret);
    if (known !== undefined) return known;
    const bytes = encodeSecret(secret, options.privateKeyProvider);
    encoded.set(secret, bytes);
    return bytes;
  };
  const toSet = (secrets: readonly SourceSecret[], typeUrl: string) =>
    createResourceSet(
      secrets.map((secret) => ({
        name: secret.name,
        version: secret.version,
        any: any.encode({ typeUrl, value: encode(secret) }),
      })),
    );
  let connections = 0;
  let versions = 0;
  return {
    source: options.source,
    metrics: options.metrics,
    log: options.log,
    sendTimeoutMs: options.sendTimeoutMs,
    nodeIds: options.nodeIds ?? "any",
    nextConnection: () => {
      connections += 1;
      return connections;
    },
    nextVersion: () => {
      versions += 1;
      const now = new Date();
      return `${formatRfc3339(now.getTime(), -now.getTimezoneOffset())}/${versions}`;
    },
    nextNonce: randomUUID,
    encode,
    toSet: (secrets, typeUrl) => {
      const [only, ...more] = secrets;
      if (only === undefined || more.length > 0 || typeUrl !== SECRET_TYPE) return toSet(secrets, typeUrl);
      const known = sets.get(only) ?? toSet(secrets, typeUrl);
      sets.set(only, known);
      return known;
    },
  };
}

/** Whole seconds with the local time zone: "2026-03-01T12:00:00+01:00", "Z" for UTC. `offsetMinutes` is east of Greenwich. */
export function formatRfc3339(timeMs: number, offsetMinutes: number): string {
  const local = new Date(timeMs + offsetMinutes * 60_000).toISOString().slice(0, 19);
  return offsetMinutes === 0 ? `${local}Z` : `${local}${formatOffset(offsetMinutes)}`;
}

function formatOffset(minutes: number): string {
  const size = Math.abs(minutes);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}
