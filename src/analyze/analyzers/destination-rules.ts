import { resolveShortHost } from "../../istio-api/values/hostname.ts";
import { NODE_LABEL } from "../../istio-api/values/topology-labels.ts";
import { fields, textOf } from "../../mesh-model/kubernetes-object.ts";
import { selects } from "../../mesh-model/selector.ts";
import type { AnalyzedMesh, AnalyzedObject, AnalyzedRule } from "../analyzed-mesh.ts";
import type { ReportFinding } from "../finding.ts";
import { createLabelIndex } from "../label-index.ts";
import { podLabelsOf } from "../selectors.ts";

const TOPOLOGY = /^topology\.(kubernetes|istio)\.io\//;
const WORKLOADS = ["Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"];

type DestinationRule = AnalyzedRule<"DestinationRule">["rule"];
type ClientTls = NonNullable<DestinationRule["spec"]["trafficPolicy"]>["tls"];

/** TLS to servers whose certificate is not checked. */
export function uncheckedServers(mesh: AnalyzedMesh, report: ReportFinding): void {
  for (const { document, rule } of mesh.rules("DestinationRule")) {
    const { host, trafficPolicy } = rule.spec;
    const mode = uncheckedMode(trafficPolicy?.tls, rule);
    if (mode !== undefined) {
      const message = `TLS mode ${mode} without caCertificates: the certificate of ${host} is not verified`;
      report("NoServerCertificateVerificationDestinationLevel", document, message, ["spec", "trafficPolicy", "tls"]);
    }
    trafficPolicy?.portLevelSettings.forEach(({ port, tls }, at) => {
      const ofPort = uncheckedMode(tls, rule);
      if (ofPort === undefined) return;
      const message = `TLS mode ${ofPort} without caCertificates: the certificate of ${host}:${port?.number ?? 0} is not verified`;
      const path = ["spec", "trafficPolicy", "portLevelSettings", at, "tls"];
      report("NoServerCertificateVerificationPortLevel", document, message, path);
    });
  }
}

/** A Secret counts only in a rule for certain workloads: others have no access to it. */
function uncheckedMode(tls: ClientTls, { spec }: DestinationRule): string | undefined {
  if (tls === undefined || (tls.mode !== "SIMPLE" && tls.mode !== "MUTUAL")) return undefined;
  const hasSecret = tls.credentialName !== "" && spec.workloadSelector !== undefined;
  return tls.caCertificates === "" && !hasSecret ? tls.mode : undefined;
}

/** Hosts without a service, and subsets without an endpoint: requests to them get 503. */
export function destinationRuleTargets(mesh: AnalyzedMesh, report: ReportFinding): void {
  // Files often have pods, and workloads that will have some, without the endpoints that a cluster would make of them.
  const workloads = WORKLOADS.flatMap((kind) => [...mesh.of(kind)]);
  const workloadsWith = createLabelIndex(workloads, (object) => withTopology(mesh, object));
  for (const { document, rule } of mesh.rules("DestinationRule")) {
    const host = resolveShortHost(rule.spec.host, rule.namespace, mesh.settings.domainSuffix);
    const services = mesh.servicesMeeting(host);
    if (services.length === 0) {
      const message = `host ${JSON.stringify(rule.spec.host)} is not a service of the mesh`;
      report("UnknownDestinationRuleHost", document, message, ["spec", "host"]);
      continue;
    }
    const namespaces = [...new Set(services.map(({ namespace }) => namespace))];
    const endpoints = services.flatMap(({ key }) => [...mesh.snapshot.endpoints(key)]);
    rule.spec.subsets.forEach(({ name, labels }, at) => {
      if (endpoints.some((endpoint) => selects(labels, endpoint.labels))) return;
      if (namespaces.some((namespace) => workloadsWith(labels, namespace).length > 0)) return;
      const message = `subset ${name} selects no endpoint of ${host}: requests to it get 503`;
      report("DestinationRuleSubsetNotSelectPods", document, message, ["spec", "subsets", at]);
    });
  }
}

/** Endpoints of pods have the region, zone and name of their node among their labels. */
function withTopology(mesh: AnalyzedMesh, object: AnalyzedObject): Readonly<Record<string, string>> {
  const nodeName = textOf(fields(object.body.spec).nodeName);
  const node = mesh.named("Node", "", nodeName);
  const topology = Object.entries(node?.labels ?? {}).filter(([name, value]) => TOPOLOGY.test(name) && value !== "");
  return {
    ...podLabelsOf(object),
    ...Object.fromEntries(topology),
    ...(nodeName !== "" && { [NODE_LABEL]: nodeName }),
  };
}
