import { isUtf8 } from "node:buffer";
import { isDeepStrictEqual } from "node:util";
import { errorMessage } from "../base/coded-error.ts";
import { type Handle, toHandle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import { isMissingFile, readFileLimited } from "../files/read-file.ts";
import { watchFiles } from "../files/watch/watch-files.ts";
import { defaultMeshSettings, type MeshLayer, parseMeshLayers } from "../mesh-model/build-mesh-settings.ts";
import type { MeshSettings } from "../mesh-model/mesh-settings.ts";
import { DiscoveryError } from "./discovery-error.ts";
import { type ConfigParser, DIRECT_PARSER } from "./parse/config-parser.ts";

export interface MeshFileOptions {
  /** Undefined: defaults for ever. */
  readonly path: string | undefined;
  readonly domainSuffix: string;
  readonly log: Logger;
  /** Where mesh config is besides the file. */
  readonly cluster?: ClusterMesh | undefined;
  /** In this thread when absent. */
  readonly parser?: ConfigParser;
  /** Also without a notice of the file system the file is looked at this often; 5 s. */
  readonly rescanMs?: number;
}

/** Mesh config of a cluster. */
export interface ClusterMesh {
  /** In force where there is no file. */
  readonly own: MeshLayer | undefined;
  /** Of the user: in force wherever file or own config say nothing. */
  readonly shared: MeshLayer | undefined;
  /** Calls after each change. Returns what ends the subscription. */
  subscribe(listener: () => void): () => void;
}

export interface MeshFile extends Handle {
  readonly settings: MeshSettings;
  subscribe(listener: (settings: MeshSettings) => void): void;
}

/**
 * The mesh settings of a file, watched. At start a file that cannot be used is an error, because "all defaults" could be an open mesh; later
 * on it leaves the last settings in force, also when it goes away. A file that is missing from the start means defaults.
 */
export async function startMeshFile(options: MeshFileOptions): Promise<MeshFile> {
  const { path, domainSuffix, log, cluster, parser = DIRECT_PARSER, rescanMs = 5000 } = options;
  const layersOf = (fileText: string | undefined): readonly MeshLayer[] => {
    const file = fileText === undefined ? cluster?.own : { text: fileText, source: `file ${path}` };
    return [cluster?.shared, file].filter((layer) => layer !== undefined && layer.text.trim() !== "") as MeshLayer[];
  };
  const parse = (layers: readonly MeshLayer[]) => parseMesh(layers, { domainSuffix, parser });
  const listeners = new Set<(settings: MeshSettings) => void>();
  let text = path === undefined ? undefined : await readMesh(path);
  if (path !== undefined && text === undefined && cluster?.own === undefined)
    log.warn("mesh config file is missing, defaults are used", { path });
  let layers = layersOf(text);
  let settings = await parse(layers);
  /** Why the file was last refused: logged once, however often it is read. */
  let refused = "";
  const reload = async (): Promise<void> => {
    if (path === undefined && cluster === undefined) return;
    try {
      const newer = path === undefined ? undefined : await readMesh(path);
      if (newer === undefined && text !== undefined) {
        throw new DiscoveryError("invalid-mesh-config", "failed reading mesh config: the file is gone");
      }
      const wanted = layersOf(newer);
      const isSame = isDeepStrictEqual(wanted, layers);
      const parsed = isSame ? settings : await parse(wanted);
      refused = "";
      text = newer;
      if (isSame) return;
      layers = wanted;
      settings = parsed;
      log.info("mesh config changed", { path });
      for (const listener of listeners) listener(settings);
    } catch (thrown) {
      const error = errorMessage(thrown);
      if (error !== refused) log.error("mesh config cannot be used, the last one stays", { path, error });
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
    get settings() {
      return settings;
    },
    subscribe: (listener: (settings: MeshSettings) => void) => void listeners.add(listener),
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      unsubscribe?.();
      await watch?.stop();
      await reloading;
    },
  });
}

async function readMesh(path: string): Promise<string | undefined> {
  try {
    const bytes = await readFileLimited(path);
    if (!isUtf8(bytes)) throw new Error(`file ${path} is not UTF-8 text`);
    return bytes.toString("utf8");
  } catch (thrown) {
    if (isMissingFile(thrown)) return undefined;
    throw new DiscoveryError("invalid-mesh-config", `failed reading mesh config: ${errorMessage(thrown)}`, {
      cause: thrown,
    });
  }
}

async function parseMesh(
  layers: readonly MeshLayer[],
  { domainSuffix, parser }: { domainSuffix: string; parser: ConfigParser },
): Promise<MeshSettings> {
  if (layers.length === 0) return defaultMeshSettings(domainSuffix);
  const { settings, problem, source = "" } = await parseMeshLayers(layers, { domainSuffix, parse: parser.parseYaml });
  if (problem === undefined) return settings;
  throw new DiscoveryError("invalid-mesh-config", `failed reading mesh config: ${source}: ${problem}`);
}
