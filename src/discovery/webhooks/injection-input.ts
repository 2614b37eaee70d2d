import { errorMessage } from "../../base/coded-error.ts";
import type { Logger } from "../../base/logger.ts";
import { isMissingFile, readTextLimited } from "../../files/read-file.ts";
import { watchFiles } from "../../files/watch/watch-files.ts";
import type { InjectionTexts } from "../../inject/index.ts";
import { fields } from "../../mesh-model/kubernetes-object.ts";
import type { KubernetesSource } from "../kubernetes-source.ts";

/** Where templates, policy and values of injection come from. */
export interface InjectionInput {
  /** Undefined: there is none, now or any more. A problem: what is there cannot be read. */
  current(): InjectionTexts | { readonly problem: string } | undefined;
  /** Resolves when `current` says what was there at the start. */
  readonly synced: Promise<void>;
  stop(): Promise<void>;
}

export const NO_INPUT: InjectionInput = {
  current: () => undefined,
  synced: Promise.resolve(),
  stop: async () => undefined,
};

export interface MapInputOptions {
  readonly source: KubernetesSource;
  readonly namespace: string;
  readonly name: string;
  onChange(): void;
}

/** The keys `config` and `values` of a ConfigMap. */
export function watchInjectionMap({ source, namespace, name, onChange }: MapInputOptions): InjectionInput {
  const place = `ConfigMap ${namespace}/${name}`;
  let isRead = false;
  let current: ReturnType<InjectionInput["current"]>;
  const watch = source.watch<ReturnType<InjectionInput["current"]>>({
    resource: { group: "", version: "v1", plural: "configmaps", namespace, name },
    reduce: (object) => (object.metadata?.name === name ? readMap(fields(object).data, place) : undefined),
    onChange: (_key, after) => {
      current = after;
      onChange();
    },
  });
  const synced = watch.synced.then(() => {
    isRead = true;
    onChange();
  });
  // Built-in settings are not those of the installation: without knowing that it has none, they must not be used.
  const unread = () => ({ problem: `${place} is not read yet: ${watch.freshness?.().problem ?? "no answer"}` });
  return { current: () => (isRead ? current : unread()), synced, stop: () => watch.stop() };
}

function readMap(data: unknown, place: string): ReturnType<InjectionInput["current"]> {
  const { config, values } = fields(data);
  if (typeof config !== "string") return { problem: `${place}: missing configuration map key "config"` };
  return {
    config: { text: config, source: `${place}, key config` },
    ...(typeof values === "string" && { values: { text: values, source: `${place}, key values` } }),
  };
}

export interface FileInputOptions {
  /** Empty: built in. */
  readonly config: string;
  readonly values: string;
  readonly log: Logger;
  onChange(): void;
}

const DEBOUNCE_MS = 100;
/** Not every volume reports changes. */
const RESCAN_MS = 5000;

/** Two files, both watched wherever they are. */
export async function watchInjectionFiles(options: FileInputOptions): Promise<InjectionInput> {
  const { config, values, log, onChange } = options;
  const read = async (): Promise<ReturnType<InjectionInput["current"]>> => {
    try {
      const [configText, valuesText] = await Promise.all([config, values].map(readOptional));
      return {
        ...(configText !== undefined && { config: { text: configText, source: `file ${config}` } }),
        ...(valuesText !== undefined && { values: { text: valuesText, source: `file ${values}` } }),
      };
    } catch (thrown) {
      return { problem: isMissingFile(thrown) ? `open ${errorMessage(thrown)}` : errorMessage(thrown) };
    }
  };
  let current = await read();
  const paths = [config, values].filter((path) => path !== "");
  const onEvent = async () => {
    current = await read();
    onChange();
  };
  const watch =
    paths.length === 0
      ? undefined
      : await watchFiles({ paths, debounceMs: DEBOUNCE_MS, rescanMs: RESCAN_MS, log, onEvent });
  return { current: () => current, synced: Promise.resolve(), stop: async () => watch?.stop() };
}

async function readOptional(path: string): Promise<string | undefined> {
  return path === "" ? undefined : readTextLimited(path);
}
