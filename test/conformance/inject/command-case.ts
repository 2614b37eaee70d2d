import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { injectText } from "../../../src/inject/core/documents/inject-text.ts";
import { skipWarnings } from "../../../src/inject/core/documents/skip-warnings.ts";
import { splitText } from "../../../src/inject/core/documents/split-text.ts";
import { type InjectCase, type InjectDefaults, settingsOf, textDifference } from "./inject-case.ts";

/** The whole output of `kube-inject`, byte by byte, but for the version hash of older generations. */
export async function commandDifference(
  dir: string,
  entry: InjectCase,
  defaults: InjectDefaults,
): Promise<string | undefined> {
  const settings = await settingsOf(dir, entry, defaults, defaults.revision_kube_inject);
  const input = await readFile(join(dir, entry.input), "utf8");
  if (entry.expected === null) return errorDifference(() => injectText(input, settings, { strict: true }), entry);
  const { text, outcomes } = injectText(input, settings, { strict: true });
  const warned = skipWarnings(outcomes, settings.rules).join("");
  if (entry.warning_contains !== undefined && !warned.includes(entry.warning_contains)) {
    return `expected a warning with ${entry.warning_contains}, got ${JSON.stringify(warned)}`;
  }
  const expected = await readFile(join(dir, entry.expected), "utf8");
  if (entry.id === "legacy-1.7-liveness") return legacyDifference(expected, text);
  return textDifference(masked(expected), masked(text));
}

function masked(text: string): string {
  return text.replaceAll(/"version":"[0-9a-f]*",/g, '"version":"",');
}

/** The user document shows the workload only, and not its empty status. */
function legacyDifference(expected: string, text: string): string | undefined {
  const workload = splitText(text).at(-1) ?? "";
  return textDifference(masked(expected), masked(workload.replace(/status: \{\}\n$/, "")));
}

function errorDifference(run: () => unknown, { error_contains = "" }: InjectCase): string | undefined {
  try {
    run();
  } catch (failure) {
    const message = String(failure).toLowerCase();
    return message.includes(error_contains) ? undefined : `expected an error with ${error_contains}, got ${message}`;
  }
  return `expected an error with ${error_contains}, got none`;
}
