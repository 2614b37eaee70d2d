import { fields, listOf } from "../../mesh-model/kubernetes-object.ts";
import { formatPath } from "../../protobuf/json/read-message.ts";
import type { AnalyzedMesh } from "../analyzed-mesh.ts";
import type { ReportFinding } from "../finding.ts";

/** What decoding and validation say of rule objects: an error keeps the object out of the mesh. */
export function invalidObjects(mesh: AnalyzedMesh, report: ReportFinding): void {
  for (const document of mesh.objects) {
    for (const { path, message, severity } of document.decoded?.problems ?? []) {
      const where = path.length === 0 ? "" : `${formatPath(path)}: `;
      report(severity === "error" ? "SchemaValidationError" : "SchemaWarning", document, `${where}${message}`, path);
    }
  }
}

/** Objects that are good by themselves and lose to others, as the control plane itself says. */
export function losingRules(mesh: AnalyzedMesh, report: ReportFinding): void {
  for (const { object, message, repeatedHost } of mesh.snapshot.problems()) {
    if (repeatedHost !== undefined) continue;
    const document = mesh.named(object.kind, object.namespace, object.name);
    if (document !== undefined) report("RuleWithoutEffect", document, message);
  }
}

/** Members that the API still has and will lose. */
export function deprecatedMembers(mesh: AnalyzedMesh, report: ReportFinding): void {
  for (const document of mesh.of("VirtualService")) {
    listOf(fields(document.body.spec).http).forEach(({ fault }, at) => {
      if (Number(fields(fields(fault).delay).percent ?? 0) <= 0) return;
      const message = "fault.delay.percent is deprecated; use fault.delay.percentage";
      report("Deprecated", document, message, ["spec", "http", at, "fault", "delay", "percent"]);
    });
  }
  for (const document of mesh.of("Sidecar")) {
    if (fields(fields(document.body.spec).outboundTrafficPolicy).egressProxy === undefined) continue;
    const message = "outboundTrafficPolicy.egressProxy is deprecated";
    report("Deprecated", document, message, ["spec", "outboundTrafficPolicy", "egressProxy"]);
  }
}

/** Hosts of sidecars' rules that no service has: such a rule is used only by clients that send the name themselves. */
export function unknownHosts(mesh: AnalyzedMesh, report: ReportFinding): void {
  for (const { document, rule } of mesh.rules("VirtualService")) {
    const { gateways, hosts } = rule.spec;
    if (gateways.length > 0 && !gateways.includes("mesh")) continue;
    hosts.forEach((host, at) => {
      if (host.startsWith("*") || mesh.servicesNamed(rule.namespace, host).length > 0) return;
      const message = `host ${JSON.stringify(host)} is not a service that namespace ${rule.namespace} sees: the rule is used on port 80 and the ports it names`;
      report("VirtualServiceHostUnknown", document, message, ["spec", "hosts", at]);
    });
  }
}
