import { type CaseContext, NO_CONTEXT } from "./case-context.ts";
import { type Difference, resourceDifferences } from "./difference.ts";
import { projectLocalities } from "./endpoints.ts";
import { canonical, type Json, normalized, object, objects, text, without } from "./json.ts";
import { projectTransportSocket } from "./tls-projection.ts";

/** Statistics names, operators' metadata and tuning: free in every answer. */
const FREE = ["altStatName", "cleanupInterval", "dnsJitter", "metadata", "typedDnsResolverConfig"];

/** Means nothing to a cluster that calls the original address. */
const LOOKUP = ["dnsLookupFamily", "dnsRefreshRate", "respectDnsTtl"];

/** Differences between two CDS answers that are not accepted. */
export function compareClusters(
  golden: readonly Json[],
  ours: readonly Json[],
  context: CaseContext = NO_CONTEXT,
): readonly Difference[] {
  const kept = (clusters: readonly Json[]) =>
    normalized(clusters).filter(({ name }) => !isUdpInbound(text(name), context));
  const found = resourceDifferences({
    kind: "clusters",
    golden: kept(golden),
    ours: kept(ours),
    name: ({ name }) => text(name),
    project: (cluster) => projectCluster(cluster, context),
  });
  return found.filter((difference) => !isAccepted(difference, golden));
}

function isUdpInbound(name: string, { udpPorts }: CaseContext): boolean {
  const [direction, port] = name.split("|");
  return direction === "inbound" && udpPorts.has(Number(port));
}

function projectCluster(cluster: Json, context: CaseContext): Json {
  const { edsClusterConfig, loadAssignment, transportSocket, transportSocketMatches, commonLbConfig, ...rest } =
    without(cluster, ...FREE, ...(cluster.type === "ORIGINAL_DST" ? LOOKUP : []));
  const eds = object(edsClusterConfig);
  const lb = object(commonLbConfig);
  return {
    ...rest,
    type: cluster.type ?? "STATIC",
    ...(edsClusterConfig !== undefined && {
      eds: { ...eds, serviceName: eds.serviceName ?? cluster.name },
    }),
    ...(loadAssignment !== undefined && { endpoints: projectLocalities(object(loadAssignment).endpoints) }),
    ...(Object.keys(lb).length > 0 && { commonLbConfig: lb }),
    ...(!hasUnusableCredential(text(cluster.name), context) && {
      tls:
        transportSocketMatches === undefined
          ? projectTransportSocket(transportSocket)
          : objects(transportSocketMatches).map((entry) => ({
              match: object(entry.match),
              socket: projectTransportSocket(entry.transportSocket),
            })),
    }),
  };
}

/** The reference leaves such a cluster in plaintext; refusing the rule or the connection is better. */
function hasUnusableCredential(name: string, { credentialHosts }: CaseContext): boolean {
  const host = name.split("|")[3] ?? "";
  return credentialHosts.has(host) || credentialHosts.has(host.split(".")[0] ?? "");
}

function isAccepted({ path, golden, ours }: Difference, clusters: readonly Json[]): boolean {
  const cluster = clusters.find(({ name }) => path.startsWith(`clusters[${text(name)}].`)) ?? {};
  if (path.endsWith(".alpn")) return isBetterAlpn(golden, ours);
  // A workload of both families is called from an address of each; the reference has the second one for ports of no service alone.
  if (/^clusters\[inbound\|.*\.upstreamBindConfig\.extraSourceAddresses/.test(path)) return golden === undefined;
  // Stock Envoy refuses such a cluster without TLS, unless it is told that nobody is to be asked for a name.
  if (path.endsWith(".allowInsecureClusterOptions")) return ours === true && cluster.transportSocket === undefined;
  // Without outlier detection no unhealthy endpoint is sent, so that the threshold has nothing to decide.
  if (/\.commonLbConfig(\.healthyPanicThreshold)?$/.test(path) && cluster.outlierDetection === undefined) {
    const threshold = path.endsWith("Threshold") ? golden : object(golden).healthyPanicThreshold;
    const isAlone = path.endsWith("Threshold") || Object.keys(object(golden)).length === 1;
    return ours === undefined && isAlone && canonical(threshold) === "{}";
  }
  // A rule with SIMPLE or MUTUAL need not ask for the identities of a sidecar as well.
  const verifiesHost = canonical(cluster.typedExtensionProtocolOptions ?? {}).includes('"autoSanValidation":true');
  return verifiesHost && /\.sans\.exact spiffe:/.test(path) && ours === undefined;
}

/**
 * Stock Envoy has no filter that adds the application's protocol to what is offered, so it has to be offered from the start. The
 * metadata exchange of other proxies must never be offered.
 */
function isBetterAlpn(golden: unknown, ours: unknown): boolean {
  const better: Readonly<Record<string, string>> = {
    '["istio"]': '["istio-http/1.1","istio","http/1.1"]',
    '["istio","h2"]': '["istio-h2","istio","h2"]',
  };
  return better[canonical(golden)] === canonical(ours);
}
