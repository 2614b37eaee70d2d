import type { Handle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import type { KeyEntry } from "./consul-types.ts";
import type { ConsulClient } from "./create-consul-client.ts";
import { startBlockingQuery } from "./start-blocking-query.ts";

export interface KeyWatchOptions {
  readonly client: ConsulClient;
  /** Without a slash in front. */
  readonly prefix: string;
  readonly log: Logger;
  /** All values below the prefix, by key. */
  onValues(values: ReadonlyMap<string, string>): void | Promise<void>;
  readonly waitMs?: number;
}

/** Follows the values below a prefix. Keys that end in a slash are folders and have no value. */
export function startKeyWatch({ client, prefix, log, onValues, waitMs }: KeyWatchOptions): Handle {
  const words = prefix.split("/").map(encodeURIComponent).join("/");
  return startBlockingQuery({
    client,
    path: `/v1/kv/${words}?recurse=true`,
    log,
    whenAbsent: [],
    ...(waitMs !== undefined && { waitMs }),
    onAnswer: (body) =>
      onValues(
        new Map(
          (body as readonly KeyEntry[])
            .filter(({ Key, Value }) => Value !== null && !Key.endsWith("/"))
            .map(({ Key, Value }) => [Key, Buffer.from(Value ?? "", "base64").toString("utf8")]),
        ),
      ),
  });
}
