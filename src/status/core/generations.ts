import type { ProberRules } from "./app-probers.ts";
import { CURRENT_TARGETS, type TargetRules } from "./scrape-targets.ts";

/** What differs between product generations in this folder. */
export interface StatusRules {
  readonly probers: ProberRules;
  /** Bodies are compressed for callers that accept it. */
  readonly compresses: boolean;
  readonly hasDrain: boolean;
  readonly hasLifecycle: boolean;
  /** `/metrics` beside `/stats/prometheus`. */
  readonly hasShortMetricsPath: boolean;
  readonly relaysProbeBody: boolean;
  /** Probes go to the local host, follow any redirect and add the configured headers. */
  readonly localProbes: boolean;
  /** The scraper's query goes on to Envoy. */
  readonly passesQuery: boolean;
  /** Sources are asked for text formats only; before, for what the scraper accepts. */
  readonly filtersAccept: boolean;
  readonly targets: TargetRules;
  /** Without application probes the scrape configuration is ignored. */
  readonly scrapesWithProbesOnly: boolean;
  /** The agent's own metrics are the beginning of the document; before, its end. */
  readonly agentFirst: boolean;
  /** POST /quitquitquit ends the agent at once; before, it drained first. */
  readonly quitsAtOnce: boolean;
}

const EVERY_KIND = ["httpGet", "tcpSocket", "grpc"] as const;

const MASTER: StatusRules = {
  probers: {
    pathPattern: /^\/(app-health|app-lifecycle)\/[^/]+\/(livez|readyz|startupz|prestopz|poststartz)$/,
    pathWord: "path",
    patternText: "^/(app-health|app-lifecycle)/[^/]+/(livez|readyz|startupz|prestopz|poststartz)$",
    kinds: EVERY_KIND,
  },
  compresses: true,
  hasDrain: true,
  hasLifecycle: true,
  hasShortMetricsPath: true,
  relaysProbeBody: true,
  localProbes: false,
  passesQuery: true,
  filtersAccept: true,
  targets: CURRENT_TARGETS,
  scrapesWithProbesOnly: false,
  agentFirst: true,
  quitsAtOnce: true,
};

const V1_20: StatusRules = {
  ...MASTER,
  probers: {
    pathPattern: /^\/app-health\/[^/]+\/(livez|readyz|startupz)$/,
    pathWord: "path",
    patternText: "^/app-health/[^/]+/(livez|readyz|startupz)$",
    kinds: EVERY_KIND,
  },
  compresses: false,
  hasDrain: false,
  hasLifecycle: false,
  relaysProbeBody: false,
  passesQuery: false,
  filtersAccept: false,
  targets: { lists: false, canBeOff: true, reservesPorts: false },
  quitsAtOnce: false,
};

const OLD_PATTERN_TEXT = "^/app-health/[^\\/]+/(livez|readyz)$";

const V1_8: StatusRules = {
  ...V1_20,
  // The message knows nothing of startupz, the rule does.
  probers: { ...V1_20.probers, pathWord: "key", patternText: OLD_PATTERN_TEXT, kinds: ["httpGet"] },
  hasShortMetricsPath: false,
  localProbes: true,
  targets: { lists: false, canBeOff: false, reservesPorts: false },
  agentFirst: false,
};

const V1_7: StatusRules = {
  ...V1_8,
  probers: {
    pathPattern: /^\/app-health\/[^/]+\/(livez|readyz)$/,
    pathWord: "key",
    patternText: OLD_PATTERN_TEXT,
    kinds: ["httpGet"],
  },
  scrapesWithProbesOnly: true,
};

export const STATUS_RULES = { master: MASTER, "1.20": V1_20, "1.8": V1_8, "1.7": V1_7 } as const;
