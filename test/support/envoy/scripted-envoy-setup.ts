import { DEFAULT_RESTART_BUDGET } from "../../../src/envoy/core/restart-budget.ts";
import type { EnvoyOptions } from "../../../src/envoy/envoy-options.ts";
import { createWorkFolder, envoyOptions, recordingLogger } from "./life.ts";
import { createScriptedEnvoy, type ScriptedEnvoyOptions } from "./scripted-envoy.ts";

/** The real budget with shorter pauses; its own numbers are the business of its table test. */
const FAST_BUDGET = {
  ...DEFAULT_RESTART_BUDGET,
  backoff: { ...DEFAULT_RESTART_BUDGET.backoff, initialMs: 1, maxMs: 4 },
};

/** A scripted Envoy with a folder, a log and the options to start it; each configuration file has its own number. */
export function setUpScripted(
  script: ScriptedEnvoyOptions,
  overrides: Partial<EnvoyOptions> & { adminPort?: number } = {},
) {
  const scripted = createScriptedEnvoy(script);
  const work = createWorkFolder();
  const log = recordingLogger();
  let written = 0;
  const options = envoyOptions({
    binaryPath: scripted.path,
    prepareConfig: async () => ({ path: work.write(`envoy-rev${written++}.json`, {}) }),
    log,
    stdio: work.stdio,
    budget: FAST_BUDGET,
    ...overrides,
  });
  return {
    scripted,
    work,
    log,
    options,
    [Symbol.dispose]: () => {
      scripted[Symbol.dispose]();
      work[Symbol.dispose]();
    },
  };
}
