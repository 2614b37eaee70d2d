import { createSdsContext, type SdsContextOptions } from "../sds-context.ts";
import type { LegacySdsMetrics } from "./legacy-metrics.ts";
import { type LegacyToken, legacyVersion } from "./legacy-rules.ts";
import type { LegacyContext } from "./legacy-stream.ts";

export interface LegacyOptions {
  readonly token: LegacyToken;
  readonly metrics?: LegacySdsMetrics | undefined;
}

/** Adds the versions that are times: each content gets the moment it was first handed out. */
export function createLegacyContext(
  options: SdsContextOptions,
  { token, metrics: legacyMetrics }: LegacyOptions,
): LegacyContext {
  const latest = new Map<string, { readonly version: string; readonly text: string }>();
  return {
    ...createSdsContext(options),
    token,
    legacyMetrics,
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
