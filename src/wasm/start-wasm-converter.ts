import { readdir } from "node:fs/promises";
import { toHandle } from "../base/handle.ts";
import { EXTENSION_TYPE } from "../xds/type-urls.ts";
import type { WasmConverter, WasmOptions } from "./options.ts";

type Opened = Pick<WasmConverter, "convert" | "stop">;

/**
 * Most workloads never see a Wasm filter, and what fetches modules costs almost a megabyte: it is loaded with the first response, or
 * at once when an earlier run has left modules that have to be looked after.
 */
export async function startWasmConverter(options: WasmOptions): Promise<WasmConverter> {
  let opened: Promise<Opened> | undefined;
  let isStopped = false;
  const open = (): Promise<Opened> => {
    opened ??= import("./open-converter.ts").then(({ openConverter }) => openConverter(options));
    return opened;
  };
  if (await hasModules(options.directory)) await open();
  return toHandle({
    typeUrl: EXTENSION_TYPE,
    convert: async (response, signal) => {
      if (isStopped) return { refusal: "the agent is stopping" };
      return (await open()).convert(response, signal);
    },
    ended: new Promise<void>(() => undefined),
    stop: async () => {
      isStopped = true;
      await (await opened)?.stop();
    },
  } satisfies Omit<WasmConverter, keyof AsyncDisposable>);
}

async function hasModules(directory: string): Promise<boolean> {
  const names = await readdir(directory).catch(() => []);
  return names.some((name) => /^[0-9a-f]{64}$/.test(name));
}
