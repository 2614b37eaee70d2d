import type { Stats } from "node:fs";
import { parseKnownFlags } from "./core/known-flags.ts";
import { runEnvoy } from "./run-envoy.ts";

/** Knows which flags a binary has. Asks it once, and again only when the file has changed. */
export interface FlagProbe {
  knownFlags(
    binary: { readonly path: string; readonly stats: Stats },
    signal?: AbortSignal,
  ): Promise<ReadonlySet<string>>;
}

export function createFlagProbe(): FlagProbe {
  const answers = new Map<string, Promise<ReadonlySet<string>>>();
  return {
    knownFlags: ({ path, stats }, signal) => {
      const key = `${path}\0${stats.mtimeMs}\0${stats.size}`;
      const known = answers.get(key) ?? askForFlags(path, signal);
      answers.set(key, known);
      return known;
    },
  };
}

/** Empty when the binary does not say; the caller then passes everything. */
async function askForFlags(path: string, signal?: AbortSignal): Promise<ReadonlySet<string>> {
  const { code, output } = await runEnvoy(path, ["--help"], { timeoutMs: 5_000, signal });
  return code === 0 ? parseKnownFlags(output) : new Set();
}
