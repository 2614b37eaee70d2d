import type { AnalyzedMesh } from "../analyzed-mesh.ts";
import type { Analyzer, ReportFinding } from "../finding.ts";
import { authorizationPolicies, extremePolicies } from "./access-policies.ts";
import { certificateFiles } from "./certificate-files.ts";
import { destinationRuleTargets, uncheckedServers } from "./destination-rules.ts";
import { envoyFilterPatches } from "./envoy-filters.ts";
import { conflictingGateways, gatewayPorts, gatewaySecrets, repeatedCertificates } from "./gateway.ts";
import { automaticImages, injectedNamespaces, proxyImages } from "./injection.ts";
import { deprecatedMembers, invalidObjects, losingRules, unknownHosts } from "./objects.ts";
import { applicationUsers, conflictingServices, entryAddresses, entryProtocols, portNames } from "./services.ts";
import { deprecatedProviders, telemetryProviders } from "./telemetry.ts";
import { destinationHosts, destinationSubsets } from "./virtual-service-destinations.ts";
import { claimRoutes, conflictingHosts, virtualServiceGateways } from "./virtual-service-gateways.ts";
import { shadowedRoutes } from "./virtual-service-matches.ts";
import { injectionWebhooks } from "./webhooks.ts";
import { sidecarSelectors, telemetryDefaults, telemetrySelectors } from "./workload-selectors.ts";

export interface RunnableAnalyzer extends Analyzer {
  readonly run: (mesh: AnalyzedMesh, report: ReportFinding) => void;
}

function one(name: string, description: string, run: RunnableAnalyzer["run"]): RunnableAnalyzer {
  return { name, description, run };
}

/** By the reference's names where it has such an analyzer. */
export const ANALYZERS: readonly RunnableAnalyzer[] = [
  one("schema.ValidationAnalyzer", "Decodes and validates every rule object", invalidObjects),
  one("schema.ShadowedRouteAnalyzer", "Routes that others before them take everything from", shadowedRoutes),
  one("deprecation.DeprecationAnalyzer", "Deprecated members", deprecatedMembers),
  one("auth.AuthorizationPoliciesAnalyzer", "Policies without workload, unknown namespaces", authorizationPolicies),
  one("destinationrule.CaCertificateAnalyzer", "TLS without verification of the server", uncheckedServers),
  one("destinationrule.SubsetSelectPodAnalyzer", "Unknown hosts, subsets without endpoints", destinationRuleTargets),
  one("deployment.MultiServiceAnalyzer", "Workloads behind services that disagree", conflictingServices),
  one("applicationUID.Analyzer", "Applications with the proxy's user id", applicationUsers),
  one("envoyfilter.EnvoyPatchAnalyzer", "Patches that depend on order, operations without effect", envoyFilterPatches),
  one("gateway.IngressGatewayPortAnalyzer", "Ports of gateways and of their services", gatewayPorts),
  one("gateway.ConflictingGatewayAnalyzer", "Gateways that want the same host and port", conflictingGateways),
  one("gateway.CertificateAnalyzer", "One certificate in several gateways", repeatedCertificates),
  one("gateway.SecretAnalyzer", "Secrets that gateways name", gatewaySecrets),
  one("injection.Analyzer", "Namespaces and pods without proxy", injectedNamespaces),
  one("injection.ImageAnalyzer", "Proxies of another version than is injected", proxyImages),
  one("injection.ImageAutoAnalyzer", "image: auto without injection", automaticImages),
  one("service.PortNameAnalyzer", "Port names without protocol", portNames),
  one("serviceentry.Analyzer", "TCP ports of ServiceEntries without addresses", entryAddresses),
  one(
    "serviceentry.ConflictingServiceEntryProtocolAnalyzer",
    "ServiceEntries that disagree on a protocol",
    entryProtocols,
  ),
  one("sidecar.SelectorAnalyzer", "Sidecar objects that select no pod or the same", sidecarSelectors),
  one("telemetry.ProviderAnalyzer", "Telemetry without provider", telemetryProviders),
  one("telemetry.SelectorAnalyzer", "Telemetry objects that select no pod or the same", telemetrySelectors),
  one("telemetry.DefaultSelectorAnalyzer", "Several Telemetry objects for one namespace", telemetryDefaults),
  one("telemetry.LightstepAnalyzer", "Deprecated tracing providers", deprecatedProviders),
  one("virtualservice.ConflictingMeshGatewayHostsAnalyzer", "Rules that want the same host", conflictingHosts),
  one("virtualservice.DestinationHostAnalyzer", "Destinations that do not exist", destinationHosts),
  one("virtualservice.DestinationRuleAnalyzer", "Subsets that do not exist", destinationSubsets),
  one("virtualservice.GatewayAnalyzer", "Gateways that do not exist or do not have the host", virtualServiceGateways),
  one("virtualservice.JWTClaimRouteAnalyzer", "Routes by claims without authentication", claimRoutes),
  one("webhook.Analyzer", "Injection webhooks that overlap or lead nowhere", injectionWebhooks),
  one("mesh.LosingRuleAnalyzer", "Rules that lose to others", losingRules),
  one("mesh.ExtremePolicyAnalyzer", "Policies that refuse everybody or do nothing", extremePolicies),
  one("mesh.CertificateFileAnalyzer", "Files of certificates that no proxy has", certificateFiles),
  one("mesh.UnknownHostAnalyzer", "Hosts of rules that no service has", unknownHosts),
];
