import { createSdsContext, type SdsContextOptions } from "../sds-context.ts";
import { type LegacyToken, legacyVersion } from "./legacy-rules.ts";
import type { LegacyContext } from "./legacy-stream.ts";

/** Adds the versions that are times: each content gets the moment it was first handed out. */
export function createLegacyContext(options: SdsContextOptions, token: LegacyToken): LegacyContext {
  const latest = new Map<string, { readonly version: string; readonly text: string }>();
  return {
    ...createSdsContext(options),
    token,
    versionText: ({ name, version }) => {
      const known = latest.get(name);
      if (known?.version === version) return known.text;
      const text = distinctText(known?.text);
      latest.set(name, { version, text });
      return text;
    },
  };
}

/** Two contents within one millisecond still have to differ. */
function distinctText(previous: string | undefined): string {
  let timeMs = Date.now();
  while (legacyVersion(timeMs) === previous) timeMs += 1;
  return legacyVersion(timeMs);
}
