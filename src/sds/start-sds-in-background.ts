import { wait } from "../base/wait.ts";
import { type SdsServerOptions, startSdsServer } from "./start-sds-server.ts";

/** A socket that can be bound is bound in far less. */
const PATIENCE_MS = 500;

export type BackgroundSdsOptions = SdsServerOptions & { readonly signal: AbortSignal };

/**
 * The SDS server. Binding its socket is retried in the background, and every failure is logged: it must not end an Envoy whose
 * configuration may not need any certificate.
 */
export async function startSdsInBackground(options: BackgroundSdsOptions): Promise<{ stop(): Promise<void> }> {
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
