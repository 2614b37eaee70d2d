import type { WorkloadSecrets } from "../workload-secrets.ts";
import { CHAIN_FILE, KEY_FILE, type OutputFiles, type OutputName, ROOT_FILE } from "./output-version.ts";

/** What can be served now, as files. The root file always is the merged bundle, the same that proxies get. */
export async function outputFiles(workload: WorkloadSecrets): Promise<OutputFiles> {
  const { keyPair, roots } = await workload.available();
  const files = new Map<OutputName, Buffer>();
  if (keyPair?.kind === "key-pair") {
    files.set(KEY_FILE, keyPair.privateKey.reveal());
    files.set(CHAIN_FILE, keyPair.certificateChain);
  }
  if (roots !== undefined) files.set(ROOT_FILE, roots);
  return files;
}
