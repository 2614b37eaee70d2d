import { parseResourceName, TRUST_BUNDLE_NAME, WORKLOAD_NAME } from "./core/resource-name.ts";
import { type CertificateDescription, describeCertificates } from "./describe-certificates.ts";
import type { FileSecrets } from "./files/file-secrets.ts";
import type { Rotation } from "./rotation.ts";
import type { ServedSecret } from "./secrets.ts";
import type { WorkloadSecrets } from "./workload-secrets.ts";

export interface DescribeSources {
  readonly workload: WorkloadSecrets;
  readonly rotation: Rotation | undefined;
  readonly files: FileSecrets;
  /** Names somebody listens for; those that are files are described too. */
  readonly names: readonly string[];
}

/** What the manager has at this moment, an expired certificate and a failed first issuance included. */
export async function describeManager(sources: DescribeSources): Promise<readonly CertificateDescription[]> {
  const [{ keyPair, roots }, source] = await Promise.all([sources.workload.available(), sources.workload.source()]);
  const descriptions: CertificateDescription[] = [];
  if (source.keyPair === "ca" && sources.rotation !== undefined) descriptions.push(describeIssued(sources.rotation));
  else if (keyPair !== undefined) descriptions.push(describeFile(WORKLOAD_NAME, keyPair));
  if (roots !== undefined) {
    descriptions.push(describeCertificates(TRUST_BUNDLE_NAME, roots.toString("latin1"), { source: source.roots }));
  }
  for (const name of sources.names) {
    const secret = await readFileName(sources.files, name);
    if (secret !== undefined) descriptions.push(describeFile(name, secret));
  }
  return descriptions;
}

function describeIssued(rotation: Rotation): CertificateDescription {
  const certificate = rotation.latest();
  const nextMs = rotation.nextAttemptMs();
  const failure = rotation.lastFailure();
  return describeCertificates(WORKLOAD_NAME, certificate?.chainPem ?? "", {
    source: certificate?.source ?? "ca",
    ...(nextMs === undefined ? {} : { nextRotation: new Date(nextMs).toISOString() }),
    ...(failure === undefined ? {} : { lastFailure: failure.message }),
  });
}

function describeFile(name: string, secret: ServedSecret): CertificateDescription {
  const pem = secret.kind === "key-pair" ? secret.certificateChain : secret.roots;
  return describeCertificates(name, pem.toString("latin1"), { source: "file" });
}

async function readFileName(files: FileSecrets, name: string): Promise<ServedSecret | undefined> {
  const resource = parseResourceName(name);
  if (resource.kind === "workload" || resource.kind === "trust-bundle" || resource.kind === "unknown") return undefined;
  return files.read(name, resource).catch(() => undefined);
}
