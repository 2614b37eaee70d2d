import { fields, labelsOf, listOf, textOf } from "../../mesh-model/kubernetes-object.ts";
import { groupBy } from "../../mesh-model/lists.ts";
import { selectProtocol } from "../../mesh-model/select-protocol.ts";
import type { AnalyzedMesh, AnalyzedObject } from "../analyzed-mesh.ts";
import type { ReportFinding } from "../finding.ts";
import { isControlPlane, isSystemNamespace, podLabelsOf, podSpecOf } from "../selectors.ts";
import { isInMesh } from "./injection.ts";

const PROXY_UID = 1337;
const MANAGED_BY = "gateway.istio.io/managed";

/** Ports whose protocol cannot be seen from their name. */
export function portNames(mesh: AnalyzedMesh, report: ReportFinding): void {
  for (const service of mesh.of("Service")) {
    const { namespace, labels, body } = service;
    const isOwn = isControlPlane(service) || labels[MANAGED_BY] !== undefined;
    if (isOwn || isSystemNamespace(namespace, mesh.settings.rootNamespace)) continue;
    const spec = fields(body.spec);
    const isExternal = spec.type === "ExternalName";
    listOf(spec.ports).forEach(({ name, port, protocol, appProtocol, targetPort }, at) => {
      const given = textOf(name);
      const chosen = selectProtocol({
        name: given,
        number: Number(port),
        ...(protocol === "UDP" && { transport: "UDP" as const }),
        ...(typeof appProtocol === "string" && { appProtocol }),
      });
      if (chosen !== "Unsupported" && !(isExternal && given === "tcp")) return;
      const path = ["spec", "ports", at];
      if (isExternal) {
        const message = `port name ${JSON.stringify(given)} of an ExternalName service: name it by its protocol (http, https, grpc, tcp-...), or TCP traffic for this port may not be forwarded`;
        report("ExternalNameServiceTypeInvalidPortName", service, message, path);
      } else {
        const message = `port name ${JSON.stringify(given)} (port ${String(port)}, targetPort ${String(targetPort ?? port)}) does not begin with a protocol: it is detected at run time; use <protocol>[-<suffix>] or appProtocol`;
        report("PortNameIsNotUnderNamingConvention", service, message, path);
      }
    });
  }
}

/** One workload behind several Services that disagree on a port. */
export function conflictingServices(mesh: AnalyzedMesh, report: ReportFinding): void {
  for (const deployment of mesh.of("Deployment")) {
    if (!isInMesh(mesh, deployment) || deployment.labels[MANAGED_BY] !== undefined) continue;
    const services = servicesOf(mesh, deployment);
    const ports = services.flatMap(({ namespace, name, body }) =>
      listOf(fields(body.spec).ports).map(({ port, targetPort, protocol }) => ({
        service: `${namespace}/${name}`,
        port: Number(port),
        targetPort: String(targetPort === undefined || targetPort === 0 ? port : targetPort),
        protocol: textOf(protocol) || "TCP",
      })),
    );
    for (const [port, group] of groupBy(ports, (one) => String(one.port))) {
      if (new Set(group.map(({ protocol }) => protocol)).size < 2) continue;
      const names = group.map(({ service }) => service).sort();
      const message = `deployment ${deployment.name} is behind several services on port ${port} with different protocols: ${names.join(", ")}`;
      report("DeploymentAssociatedToMultipleServices", deployment, message, ["metadata", "name"]);
    }
    for (const [targetPort, group] of groupBy(ports, (one) => one.targetPort)) {
      const numbers = [...new Set(group.map(({ port }) => port))].sort((a, b) => a - b);
      if (numbers.length < 2) continue;
      const names = [...new Set(group.map(({ service }) => service))].sort();
      const message = `deployment ${deployment.name} is behind services ${names.join(", ")} that lead to target port ${targetPort} from different ports: ${numbers.join(", ")}`;
      report("DeploymentConflictingPorts", deployment, message, ["metadata", "name"]);
    }
  }
}

function servicesOf(mesh: AnalyzedMesh, deployment: AnalyzedObject): readonly AnalyzedObject[] {
  return mesh
    .servicesSelecting(podLabelsOf(deployment), deployment.namespace)
    .filter(({ body }) => Object.keys(labelsOf(fields(body.spec).selector)).length > 0);
}

/** The proxy's own user id is not captured: an application that runs with it is outside the mesh. */
export function applicationUsers(mesh: AnalyzedMesh, report: ReportFinding): void {
  for (const object of [...mesh.of("Pod"), ...mesh.of("Deployment")]) {
    if (isControlPlane(object)) continue;
    const spec = podSpecOf(object);
    const users = [spec, ...listOf(spec.containers).filter(({ name }) => name !== "istio-proxy")];
    const found = users.filter((one) => fields(one.securityContext).runAsUser === PROXY_UID);
    if (found.length === 0) continue;
    const message = `user id ${PROXY_UID} is the proxy's: the application's traffic is not captured`;
    report("InvalidApplicationUID", object, message, object.kind === "Pod" ? ["spec"] : ["spec", "template", "spec"]);
  }
}

/** TCP services without an address are matched by port alone. */
export function entryAddresses(mesh: AnalyzedMesh, report: ReportFinding): void {
  const metadata = fields(fields(fields(mesh.settings.source).defaultConfig).proxyMetadata);
  if (
    String(metadata.ISTIO_META_DNS_AUTO_ALLOCATE ?? "") === "true" &&
    String(metadata.ISTIO_META_DNS_CAPTURE ?? "") === "true"
  )
    return;
  for (const { document, rule } of mesh.rules("ServiceEntry")) {
    // Addresses that a control plane allocated stand in the status.
    if (rule.spec.addresses.length > 0 || listOf(fields(rule.status).addresses).length > 0) continue;
    rule.spec.ports.forEach(({ protocol, number }, at) => {
      if (protocol !== "" && protocol.toUpperCase() !== "TCP") return;
      const message = `port ${number} is TCP and the ServiceEntry has no addresses: its traffic is matched by port alone, for every destination`;
      report("ServiceEntryAddressesRequired", document, message, ["spec", "ports", at]);
    });
  }
}

/** Two ServiceEntries that disagree about a port of the same host. */
export function entryProtocols(mesh: AnalyzedMesh, report: ReportFinding): void {
  const ports = mesh.rules("ServiceEntry").flatMap(({ document, rule }) => {
    const entries = rule.spec.exportTo.length === 0 ? mesh.settings.defaultServiceExportTo : rule.spec.exportTo;
    const shown = entries.map((entry) => (entry === "." ? rule.namespace : entry));
    return rule.spec.hosts.flatMap((host) =>
      rule.spec.ports.map(({ number, protocol }, at) => ({
        document,
        shown,
        host,
        number,
        protocol: protocol.toUpperCase(),
        at,
      })),
    );
  });
  const reported = new Set<AnalyzedObject>();
  const byPort = groupBy(ports, ({ host, number }) => `${host}:${number}`);
  for (const one of ports) {
    const same = (byPort.get(`${one.host}:${one.number}`) ?? []).filter(
      ({ shown }) =>
        shown.includes("*") || one.shown.includes("*") || shown.some((namespace) => one.shown.includes(namespace)),
    );
    const protocols = [...new Set(same.map(({ protocol }) => protocol))].sort();
    if (protocols.length < 2 || reported.has(one.document)) continue;
    reported.add(one.document);
    const names = [...new Set(same.map(({ document }) => `${document.namespace}/${document.name}`))].sort();
    const message = `ServiceEntries ${names.join(", ")} define host ${JSON.stringify(one.host)} and port ${one.number} with different protocols: ${protocols.join(", ")}`;
    report("ConflictingServiceEntryProtocol", one.document, message, ["spec", "ports", one.at]);
  }
}
