import type { PlatformSettings } from "../platform/index.ts";
import type { EnvReader } from "./env-reader.ts";
import type { GenerationRules } from "./generations.ts";

export function readPlatformSettings(env: EnvReader, rules: GenerationRules, supportsIpv6: boolean): PlatformSettings {
  const word = env.string("CLOUD_PLATFORM").toLowerCase();
  const forced = (["aws", "azure", "gcp", "none"] as const).find((name) => name === word);
  return Object.freeze({
    choice: forced ?? "detect",
    supportsIpv6,
    gcpMetadata: env.string("GCP_METADATA"),
    gcpQuotaProject: env.string("GCP_QUOTA_PROJECT"),
    gcpZone: env.string("GCP_ZONE"),
    gceMetadataHost: env.string("GCE_METADATA_HOST"),
    inKubernetes: env.isSet("KUBERNETES_SERVICE_HOST"),
    awsIdentityDocument: rules.awsIdentityDocument,
  });
}
