import { wait } from "../base/wait.ts";
import { type SdsServerOptions, startSdsServer } from "../sds/index.ts";

/** A socket that can be bound is bound long before. */
const PATIENCE_MS = 500;

/**
 * The SDS server. A socket that cannot be bound is tried again in the background, and told when it never could be: it is no reason to end
 * an Envoy whose configuration may not need any certificate.
 */
export async function connectSds(
  options: SdsServerOptions & { readonly signal: AbortSignal },
): Promise<{ stop(): Promise<void> }> {
  const stopping = new AbortController();
  const signal = AbortSignal.any([options.signal, stopping.signal]);
  // Every failure is in the log by the time it is given up.
  const starting = startSdsServer({ ...options, signal }).catch(() => undefined);
  const enough = new AbortController();
  await Promise.race([starting, wait(PATIENCE_MS, enough.signal)]);
  enough.abort();
  return {
    stop: async () => {
      stopping.abort();
      await (await starting)?.stop();
    },
  };
}
