export type PlatformName = "aws" | "azure" | "gcp" | "none";

export interface Locality {
  readonly region: string;
  readonly zone: string;
  readonly subzone: string;
}

/** What the cloud says about this machine; plain data, complete when the detection has ended. */
export interface PlatformInfo {
  readonly name: PlatformName;
  /** Node metadata PLATFORM_METADATA. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Used when no label names the locality. */
  readonly locality: Locality;
  /** Only off Kubernetes. */
  readonly labels: Readonly<Record<string, string>>;
  readonly isKubernetes: boolean;
}

export const NO_LOCALITY: Locality = Object.freeze({ region: "", zone: "", subzone: "" });

export const NO_PLATFORM: PlatformInfo = Object.freeze({
  name: "none",
  metadata: Object.freeze({}),
  locality: NO_LOCALITY,
  labels: Object.freeze({}),
  isKubernetes: true,
});

/** The variables platform detection looks at. */
export interface PlatformSettings {
  /** "detect", or the platform that is forced. */
  readonly choice: PlatformName | "detect";
  readonly supportsIpv6: boolean;
  readonly gcpMetadata: string;
  readonly gcpQuotaProject: string;
  readonly gcpZone: string;
  readonly gceMetadataHost: string;
  readonly inKubernetes: boolean;
  /** Generations that read AWS's identity document instead of single values. */
  readonly awsIdentityDocument: boolean;
}
