/** What differs between product generations in this folder. */
export interface HealthRules {
  readonly hasGrpc: boolean;
  /** Only HTTP probes go to the workload's address by default, the others to the local host. */
  readonly onlyHttpHasDefaultHost: boolean;
  /** Envoy's own state counts too. */
  readonly asksEnvoy: boolean;
  /** The first look comes right behind the initial delay; before, a period later. */
  readonly looksAtOnce: boolean;
  /** Nothing is reported until the workload was healthy once. */
  readonly beginsHealthy: boolean;
}

const MASTER: HealthRules = {
  hasGrpc: true,
  onlyHttpHasDefaultHost: false,
  asksEnvoy: true,
  looksAtOnce: true,
  beginsHealthy: false,
};
const V1_20: HealthRules = { ...MASTER, hasGrpc: false, onlyHttpHasDefaultHost: true };
const V1_8: HealthRules = { ...V1_20, asksEnvoy: false, looksAtOnce: false, beginsHealthy: true };

/** 1.7 and before had no such checks: whoever configures one gets those of 1.8. */
export const HEALTH_RULES = { master: MASTER, "1.20": V1_20, "1.8": V1_8 } as const;
