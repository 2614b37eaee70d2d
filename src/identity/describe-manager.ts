import { parseResourceName, TRUST_BUNDLE_NAME, WORKLOAD_NAME } from "./core/resource-name.ts";
import { type CertificateDescription, describeSecret } from "./describe-certificates.ts";
import type { FileName, FileSecrets } from "./files/file-secrets.ts";
import type { Rotation } from "./rotation.ts";
import { trustBundleSecret } from "./secrets.ts";
import type { WorkloadSecrets } from "./workload-secrets.ts";

export interface DescribeSources {
  readonly workload: WorkloadSecrets;
  readonly rotation: Rotation | undefined;
  readonly files: FileSecrets;
  /** Names somebody listens for; those that are files are described too. */
  readonly names: readonly string[];
}

/** Everything the manager could serve at this moment without waiting. */
export async function describeManager(sources: DescribeSources): Promise<readonly CertificateDescription[]> {
  const [{ keyPair, roots }, source] = await Promise.all([sources.workload.available(), sources.workload.source()]);
  const descriptions: CertificateDescription[] = [];
  if (keyPair !== undefined) {
    const about = source.keyPair === "file" ? ({ source: "file" } as const) : issuedFacts(sources.rotation);
    descriptions.push(describeSecret({ ...keyPair, name: WORKLOAD_NAME }, about));
  }
  if (roots !== undefined) {
    descriptions.push(describeSecret(trustBundleSecret(TRUST_BUNDLE_NAME, roots, undefined), { source: source.roots }));
  }
  for (const name of sources.names) {
    const secret = await readFileName(sources.files, name);
    if (secret !== undefined) descriptions.push(describeSecret(secret, { source: "file" }));
  }
  return descriptions;
}

function issuedFacts(rotation: Rotation | undefined): Omit<CertificateDescription, "resource" | "certificates"> {
  const nextMs = rotation?.nextAttemptMs();
  const failure = rotation?.lastFailure();
  return {
    source: rotation?.latest()?.source ?? "ca",
    ...(nextMs === undefined ? {} : { nextRotation: new Date(nextMs).toISOString() }),
    ...(failure === undefined ? {} : { lastFailure: failure.message }),
  };
}

async function readFileName(files: FileSecrets, name: string) {
  const resource = parseResourceName(name);
  if (resource.kind === "workload" || resource.kind === "trust-bundle" || resource.kind === "unknown") return undefined;
  const file: FileName = resource;
  return files.read(name, file).catch(() => undefined);
}
