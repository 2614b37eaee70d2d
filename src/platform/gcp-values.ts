import type { Locality, PlatformSettings } from "./platform-info.ts";

/** Metadata given by the environment; it replaces every lookup. */
export function staticGcpMetadata(
  settings: Pick<PlatformSettings, "gcpMetadata" | "gcpQuotaProject" | "gcpZone">,
): Readonly<Record<string, string>> {
  const parts = settings.gcpMetadata.split("|");
  const [project = "", number = "", cluster = "", location = ""] = parts.length === 4 ? parts : [];
  const values = {
    gcp_project: project,
    gcp_project_number: number,
    gcp_gke_cluster_name: cluster,
    gcp_location: location,
    gcp_quota_project: settings.gcpQuotaProject,
    gcp_zone: settings.gcpZone,
  };
  return withClusterUrl(Object.fromEntries(Object.entries(values).filter(([, value]) => value !== "")));
}

/** The cluster's address, when project, location and name are all known. */
export function withClusterUrl(metadata: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { gcp_project: project, gcp_location: location, gcp_gke_cluster_name: cluster } = metadata;
  if (project === undefined || location === undefined || cluster === undefined) return metadata;
  const url = `https://container.googleapis.com/v1/projects/${project}/locations/${location}/clusters/${cluster}`;
  return { ...metadata, gcp_gke_cluster_url: url };
}

/** `us-central1-f` lies in region `us-central1`; undefined for anything that is no zone. */
export function parseGcpZone(zone: string): Locality | undefined {
  const [, region] = /^([^-]+-[^-]+)-[^-]+$/.exec(zone) ?? [];
  return region === undefined ? undefined : { region, zone, subzone: "" };
}

/** GCE puts `ZONE.c.PROJECT.internal` on the search line of its resolver configuration. */
export function zoneOfResolvConf(text: string): string | undefined {
  return /^search.* ([^-\s]+-[^-\s]+-[^-\s]+)\.c\.[^.\s]+\.internal/m.exec(text)?.[1];
}
