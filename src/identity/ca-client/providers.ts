import type { CaClientOptions } from "./ca-client-options.ts";
import { CaError } from "./ca-error.ts";
import { startCitadelClient } from "./citadel-client.ts";
import type { CaClient } from "./types.ts";

/** Makes the client of one kind of CA. Rejects with a `CaError` for options it cannot work with. */
export type CaProvider = (options: CaClientOptions) => Promise<CaClient>;

/** By the name that `CA_PROVIDER` gives. A program with a CA of its own passes a map with more entries. */
export const CA_PROVIDERS: ReadonlyMap<string, CaProvider> = new Map<string, CaProvider>([
  ["Citadel", startCitadelClient],
  // Few use them, and every agent would load their code.
  ["GoogleCA", async (options) => (await import("./google-ca-client.ts")).startGoogleCaClient(options)],
  ["GoogleCAS", async (options) => (await import("./google-cas-client.ts")).startGoogleCasClient(options)],
]);

export async function startCaClient(
  provider: string,
  options: CaClientOptions,
  providers: ReadonlyMap<string, CaProvider> = CA_PROVIDERS,
): Promise<CaClient> {
  const start = providers.get(provider);
  if (start !== undefined) return start(options);
  throw new CaError("bad-config", `CA provider ${JSON.stringify(provider)} not registered`);
}
