import { isUtf8 } from "node:buffer";
import { isDeepStrictEqual } from "node:util";
import { errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { isMissingFile, readFileLimited } from "../files/read-file.ts";
import { watchFiles } from "../files/watch/watch-files.ts";
import type { MeshLayer } from "../mesh-model/build-mesh-settings.ts";
import { DiscoveryError } from "./discovery-error.ts";

/** Config of the mesh in a cluster. */
export interface ClusterLayers {
  /** In force where there is no file. */
  readonly own: MeshLayer | undefined;
  /** Of the user: in force wherever file or own config say nothing. */
  readonly shared: MeshLayer | undefined;
  /** Calls after each change. Returns what ends the subscription. */
  subscribe(listener: () => void): () => void;
}

export interface ConfigFileOptions<Value> {
  /** In logs and errors: `mesh config`. */
  readonly what: string;
  /** Undefined: no file, ever. */
  readonly path: string | undefined;
  /** Where the config is besides the file. */
  readonly cluster?: ClusterLayers | undefined;
  /** Each layer over those before it. Rejects where they cannot be used. */
  readonly parse: (layers: readonly MeshLayer[]) => Promise<Value>;
  /** A file that is missing at the start is worth a warning. */
  readonly isExpected: boolean;
  readonly log: Logger;
  /** Also without a notice of the file system the file is looked at this often; 5 s. */
  readonly rescanMs?: number;
}

export interface ConfigFile<Value> extends Handle {
  readonly value: Value;
  subscribe(listener: (value: Value) => void): void;
}

/**
 * A config of the whole mesh, from a file or a cluster, watched. At start one that cannot be used is an error, because "all defaults" could
 * be an open mesh; later on it leaves the last one in force, also when the file goes away. A file that is missing from the start means
 * what the cluster says, else defaults.
 */
export async function startConfigFile<Value>(options: ConfigFileOptions<Value>): Promise<ConfigFile<Value>> {
  const { what, path, cluster, parse, log, rescanMs = 5000 } = options;
  const layersOf = (fileText: string | undefined): readonly MeshLayer[] => {
    const file = fileText === undefined ? cluster?.own : { text: fileText, source: `file ${path}` };
    return [cluster?.shared, file].filter((layer) => layer !== undefined && layer.text.trim() !== "") as MeshLayer[];
  };
  const listeners = new Set<(value: Value) => void>();
  let text = path === undefined ? undefined : await readConfig(what, path);
  if (options.isExpected && path !== undefined && text === undefined && cluster?.own === undefined)
    log.warn(`${what} file is missing, defaults are used`, { path });
  let layers = layersOf(text);
  let value = await parse(layers);
  /** Why the file was last refused: logged once, however often it is read. */
  let refused = "";
  const reload = async (): Promise<void> => {
    if (path === undefined && cluster === undefined) return;
    try {
      const newer = path === undefined ? undefined : await readConfig(what, path);
      if (newer === undefined && text !== undefined) {
        throw new DiscoveryError("invalid-mesh-config", `failed reading ${what}: the file is gone`);
      }
      const wanted = layersOf(newer);
      const isSame = isDeepStrictEqual(wanted, layers);
      const parsed = isSame ? value : await parse(wanted);
      refused = "";
      text = newer;
      if (isSame) return;
      layers = wanted;
      value = parsed;
      log.info(`${what} changed`, { path });
      for (const listener of listeners) listener(value);
    } catch (thrown) {
      const error = errorMessage(thrown);
      if (error !== refused) log.error(`${what} cannot be used, the last one stays`, { path, error });
      refused = error;
    }
  };
  const watch =
    path === undefined
      ? undefined
      : await watchFiles({ paths: [path], debounceMs: 100, rescanMs, log, onEvent: reload });
  // One after the other: of two changes the later must be the last to count.
  let reloading: Promise<void> = Promise.resolve();
  const unsubscribe = cluster?.subscribe(() => {
    reloading = reloading.then(reload);
  });
  return toHandle({
    get value() {
      return value;
    },
    subscribe: (listener: (newer: Value) => void) => void listeners.add(listener),
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      unsubscribe?.();
      await watch?.stop();
      await reloading;
    },
  });
}

async function readConfig(what: string, path: string): Promise<string | undefined> {
  try {
    const bytes = await readFileLimited(path);
    if (!isUtf8(bytes)) throw new Error(`file ${path} is not UTF-8 text`);
    return bytes.toString("utf8");
  } catch (thrown) {
    if (isMissingFile(thrown)) return undefined;
    throw new DiscoveryError("invalid-mesh-config", `failed reading ${what}: ${errorMessage(thrown)}`, {
      cause: thrown,
    });
  }
}
