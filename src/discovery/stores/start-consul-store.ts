import { type Handle, toHandle } from "../../base/handle.ts";
import type { Logger } from "../../base/logger.ts";
import { type ConsulClient, startKeyWatch } from "../../consul/index.ts";
import type { ConfigStore } from "../../mesh-model/config-store.ts";
import { type ConfigParser, readDocuments } from "../parse/config-parser.ts";
import { createSnapshotPublisher } from "./config-snapshot.ts";
import type { ReadFile } from "./files/file-reader.ts";
import { type Assembled, assemble, logNewProblems, NOTHING } from "./start-file-store.ts";

export interface ConsulStoreOptions {
  readonly client: ConsulClient;
  /** Every key below it is a text of rule objects. */
  readonly prefix: string;
  readonly parser: ConfigParser;
  readonly log: Logger;
  /** For objects that name none; "default" when absent. */
  readonly defaultNamespace?: string;
}

export interface ConsulStore extends ConfigStore, Handle {
  /** Resolves when the keys have been read once. */
  readonly synced: Promise<void>;
}

/**
 * Rule objects of Consul's key/value store. A value that went bad leaves its objects as they were, and so does a Consul that is away; a
 * deleted key takes them away.
 */
export function startConsulStore(options: ConsulStoreOptions): ConsulStore {
  const { client, prefix, parser, log, defaultNamespace = "default" } = options;
  const publisher = createSnapshotPublisher();
  let files = new Map<string, ReadFile>();
  let state: Assembled = NOTHING;
  let settle: () => void = () => undefined;
  const synced = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const read = async (key: string, text: string): Promise<ReadFile> => {
    const path = `consul:${key}`;
    const known = files.get(path);
    const documents = await readDocuments(Buffer.from(text), known?.documents ?? [], { parser, defaultNamespace });
    return { path, mtimeMs: known?.mtimeMs ?? Date.now(), documents };
  };
  const watch = startKeyWatch({
    client,
    prefix,
    log,
    onValues: async (values) => {
      const next = new Map<string, ReadFile>();
      for (const [key, text] of [...values].sort(([a], [b]) => (a < b ? -1 : 1))) {
        const file = await read(key, text);
        next.set(file.path, file);
      }
      files = next;
      state = assemble([...files.values()], state);
      logNewProblems(log, publisher.snapshot.problems, state.problems);
      const changes = publisher.publish(state.objects, state.problems);
      if (changes.length > 0)
        log.info("rule objects loaded from Consul", { prefix, objects: state.objects.size, changed: changes.length });
      settle();
    },
  });
  return toHandle({
    get snapshot() {
      return publisher.snapshot;
    },
    subscribe: publisher.subscribe,
    synced,
    ended: watch.ended,
    stop: () => watch.stop(),
  });
}
