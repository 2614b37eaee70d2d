import { errorMessage } from "../../base/coded-error.ts";
import { watchFiles } from "../../files/watch/watch-files.ts";
import { CaMaterialError } from "../ca-server-error.ts";
import { checkMaterial, type MaterialTexts, mayReplaceRoots, type SigningMaterial } from "../core/signing-material.ts";
import { readPluggedIn } from "./plugged-in.ts";
import type { MaterialSource, SourceOptions } from "./source.ts";

export interface PluggedInOptions extends SourceOptions {
  readonly directory: string;
  readonly allowsSeveralRoots: boolean;
  readonly debounceMs: number;
  readonly pollMs: number;
}

/** The CA of the directory; undefined when it holds none. Later changes are taken only when they are usable as a whole. */
export async function openPluggedIn(options: PluggedInOptions): Promise<MaterialSource | undefined> {
  const texts = await readPluggedIn(options.directory);
  if (texts === undefined) return undefined;
  const initial = checkMaterial(texts, options.now());
  return { kind: "plugged-in", initial, follow: (use) => follow(options, { texts, material: initial }, use) };
}

interface Seen {
  readonly texts: MaterialTexts;
  readonly material: SigningMaterial;
}

function follow(options: PluggedInOptions, first: Seen, use: (material: SigningMaterial) => void): () => Promise<void> {
  const { directory, debounceMs, pollMs, log } = options;
  let seen = first;
  let complained: string | undefined;
  const look = async () => {
    try {
      const next = await readChange(options, seen);
      complained = undefined;
      if (next === undefined) return;
      seen = next;
      use(next.material);
      log.info("signing certificate reloaded", { directory, serial: next.material.certificate.serial });
    } catch (failure) {
      const text = errorMessage(failure);
      // Polling meets the same broken files again and again: one line is enough.
      if (text !== complained)
        log.error("new signing certificate not used, the old one stays", { directory, error: text });
      complained = text;
    }
  };
  const watching = watchFiles({ paths: [directory], debounceMs, rescanMs: pollMs, log, onEvent: look });
  return async () => (await watching).stop();
}

async function readChange(options: PluggedInOptions, seen: Seen): Promise<Seen | undefined> {
  const texts = await readPluggedIn(options.directory);
  if (texts === undefined) throw new CaMaterialError("incomplete-bundle", "the signing CA bundle is gone");
  if (isSame(texts, seen.texts)) return undefined;
  const material = checkMaterial(texts, options.now());
  if (mayReplaceRoots(seen.material.roots, material.roots, options.allowsSeveralRoots)) return { texts, material };
  const text = "the root certificates changed, which would cut off every workload that trusts the old ones";
  throw new CaMaterialError("root-changed", text);
}

function isSame(one: MaterialTexts, other: MaterialTexts): boolean {
  return (["certificate", "key", "chain", "root", "crl"] as const).every((part) => one[part] === other[part]);
}
