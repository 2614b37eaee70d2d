import { connect } from "node:net";
import { errorMessage } from "../base/coded-error.ts";
import { httpRequest } from "../net/http-client/http-request.ts";
import { metadataText } from "./metadata-text.ts";
import { METADATA_ADDRESS, type PlatformContext } from "./platform-access.ts";
import { type Locality, NO_LOCALITY, type PlatformInfo, type PlatformSettings } from "./platform-info.ts";

const FLAVOR = { "Metadata-Flavor": "Google" };
const PRODUCT_NAME = "/sys/class/dmi/id/product_name";

/** Node metadata and where it is served. */
const LOOKUPS: Readonly<Record<string, string>> = {
  gcp_project: "project/project-id",
  gcp_project_number: "project/numeric-project-id",
  gcp_location: "instance/attributes/cluster-location",
  gcp_gke_cluster_name: "instance/attributes/cluster-name",
  gcp_gce_instance: "instance/name",
  gcp_gce_instance_id: "instance/id",
  gcp_gce_instance_template: "instance/attributes/instance-template",
  gcp_gce_instance_created_by: "instance/attributes/created-by",
};

export async function detectGcp(context: PlatformContext): Promise<boolean> {
  return context.settings.gcpMetadata !== "" || isOnGce(context);
}

export async function readGcp(context: PlatformContext): Promise<PlatformInfo> {
  const { settings } = context;
  const isStatic = settings.gcpMetadata !== "";
  const metadata = isStatic ? staticGcpMetadata(settings) : await lookedUpMetadata(context);
  const locality = await readLocality(context, isStatic);
  const isKubernetes = settings.inKubernetes || (metadata.gcp_gke_cluster_name ?? "") !== "";
  const labels = isKubernetes ? {} : await readLabels(context, metadata, locality);
  return { name: "gcp", metadata, locality, labels, isKubernetes };
}

/** A machine that names Google in its firmware waits for both answers; elsewhere the first one counts. */
async function isOnGce(context: PlatformContext): Promise<boolean> {
  const { access, settings } = context;
  if (settings.gceMetadataHost !== "") return true;
  const byHttp = httpRequest({
    url: `http://${access.gcpHost}/`,
    timeoutMs: access.timeouts.gcpProbeMs,
    signal: context.signal,
  }).then(
    ({ headers }) => headers["metadata-flavor"] === "Google",
    () => false,
  );
  const byName = access.lookup("metadata.google.internal.").then(
    (addresses) => addresses.includes(METADATA_ADDRESS),
    () => false,
  );
  const product = (await access.readText(PRODUCT_NAME)).trim();
  if (product !== "Google" && product !== "Google Compute Engine") return Promise.race([byHttp, byName]);
  const positive = (answer: Promise<boolean>) =>
    answer.then((isGce) => isGce || Promise.reject(new Error("not on GCE")));
  return Promise.any([positive(byHttp), positive(byName)]).catch(() => false);
}

/** What the server does not know is left out; a machine that is not at Google is not asked eight times. */
async function lookedUpMetadata(context: PlatformContext): Promise<Readonly<Record<string, string>>> {
  if (!(await isOnGce(context)) || !(await isReachable(context))) return {};
  const values = await Promise.all(
    Object.entries(LOOKUPS).map(async ([name, path]) => [name, await get(context, path).catch(() => "")] as const),
  );
  return withClusterUrl(Object.fromEntries(values.filter(([, value]) => value !== "")));
}

/** GCE_METADATA_HOST wins, as in Google's own libraries. */
function metadataHost({ settings, access }: PlatformContext): string {
  return settings.gceMetadataHost === "" ? access.gcpHost : settings.gceMetadataHost;
}

/** One value; Google's servers refuse requests without the header, which keeps redirected browsers out. */
async function get(context: PlatformContext, path: string): Promise<string> {
  const url = `http://${metadataHost(context)}/computeMetadata/v1/${path}`;
  const text = await metadataText(url, {
    headers: FLAVOR,
    timeoutMs: context.access.timeouts.gcpLookupMs,
    signal: context.signal,
  });
  return text.trim();
}

/** A connection within the limit saves eight lookups from waiting for theirs. */
function isReachable(context: PlatformContext): Promise<boolean> {
  const { hostname, port } = new URL(`http://${metadataHost(context)}`);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || 80) });
    const end = (answer: boolean) => {
      clearTimeout(timer);
      context.signal.removeEventListener("abort", giveUp);
      socket.destroy();
      resolve(answer);
    };
    const giveUp = () => end(false);
    const timer = setTimeout(giveUp, context.access.timeouts.gcpProbeMs);
    context.signal.addEventListener("abort", giveUp, { once: true });
    socket.once("connect", () => end(true));
    socket.once("error", giveUp);
  });
}

async function readLocality(context: PlatformContext, isStatic: boolean): Promise<Locality> {
  const zone = await readZone(context, isStatic);
  const locality = parseGcpZone(zone);
  if (locality === undefined && zone !== "")
    context.log.warn(`Error fetching GCP region from zone ${zone}: unable to extract region from GCP zone: ${zone}`);
  return locality ?? NO_LOCALITY;
}

/** The resolver file needs no network, so it is asked before the metadata server. */
async function readZone(context: PlatformContext, isStatic: boolean): Promise<string> {
  const { settings, access, log } = context;
  if (isStatic && settings.gcpZone !== "") return settings.gcpZone;
  const fromResolver = zoneOfResolvConf(await access.readText("/etc/resolv.conf"));
  if (fromResolver !== undefined) return fromResolver;
  log.warn("Failed to load the zone name of the pod from resolv.conf");
  if (isStatic) return "";
  try {
    return (await get(context, "instance/zone")).split("/").at(-1) ?? "";
  } catch (thrown) {
    log.warn(`Error fetching GCP zone from the metadata server: ${errorMessage(thrown)}`);
    return "";
  }
}

/** Labels of the instance, for virtual machines. */
async function readLabels(
  context: PlatformContext,
  { gcp_project: project, gcp_gce_instance: instance }: Readonly<Record<string, string>>,
  { zone }: Locality,
): Promise<Readonly<Record<string, string>>> {
  if (project === undefined || instance === undefined || zone === "") return {};
  try {
    const granted: unknown = JSON.parse(await get(context, "instance/service-accounts/default/token"));
    const token = (granted as { access_token?: unknown } | null)?.access_token;
    const url = `${context.access.gcpComputeUrl}/compute/v1/projects/${project}/zones/${zone}/instances/${instance}`;
    const headers = { Authorization: `Bearer ${String(token)}` };
    const described: unknown = JSON.parse(
      await metadataText(url, { headers, timeoutMs: context.access.timeouts.gcpProbeMs, signal: context.signal }),
    );
    const labels = (described as { labels?: unknown } | null)?.labels;
    if (typeof labels !== "object" || labels === null) return {};
    return Object.fromEntries(
      Object.entries(labels).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    );
  } catch (thrown) {
    context.log.warn(`unable to retrieve instance labels: ${errorMessage(thrown)}`);
    return {};
  }
}

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
function withClusterUrl(metadata: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { gcp_project: project, gcp_location: location, gcp_gke_cluster_name: cluster } = metadata;
  if (project === undefined || location === undefined || cluster === undefined) return metadata;
  const url = `https://container.googleapis.com/v1/projects/${project}/locations/${location}/clusters/${cluster}`;
  return { ...metadata, gcp_gke_cluster_url: url };
}

/** `us-central1-f` lies in region `us-central1`; undefined for anything that is not a zone. */
export function parseGcpZone(zone: string): Locality | undefined {
  const [, region] = /^([^-]+-[^-]+)-[^-]+$/.exec(zone) ?? [];
  return region === undefined ? undefined : { region, zone, subzone: "" };
}

/** GCE puts `ZONE.c.PROJECT.internal` on the search line of its resolver configuration. */
export function zoneOfResolvConf(text: string): string | undefined {
  return /^search.* ([^-\s]+-[^-\s]+-[^-\s]+)\.c\.[^.\s]+\.internal/m.exec(text)?.[1];
}
