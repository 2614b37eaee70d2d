import type { WorkloadEntrySpec, WorkloadGroupSpec, WorkloadProbe } from "../specs.ts";
import { portProblem } from "../values/address.ts";
import { validateLabels } from "./labels.ts";
import type { Report } from "./report.ts";
import { nonNegativeReason, portNameReason } from "./values.ts";

const PROBE_NUMBERS = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;

/** The template of workloads that register themselves; it has no address yet. */
export function validateWorkloadGroup(report: Report, { metadata, template, probe }: WorkloadGroupSpec): void {
  if (template === undefined) report.error("template is required");
  // Nothing follows from a template until a workload registers with it.
  else warnTemplate(report.at("template"), template);
  validateLabels(report.at("metadata", "labels"), metadata?.labels ?? {});
  if (probe !== undefined) validateProbe(report.at("probe"), probe);
}

function warnTemplate(report: Report, { labels, ports }: WorkloadEntrySpec): void {
  const at = report.at("labels");
  validateLabels({ ...at, error: at.warn }, labels);
  for (const [name, port] of Object.entries(ports))
    report.warn(portNameReason(name) ?? portProblem(port), "ports", name);
}

function validateProbe(report: Report, probe: WorkloadProbe): void {
  for (const name of PROBE_NUMBERS) report.error(nonNegativeReason(probe[name], name), name);
  const { httpGet, tcpSocket, exec, grpc } = probe;
  if (httpGet !== undefined) {
    report.error(portProblem(httpGet.port), "httpGet", "port");
    if (!["", "HTTP", "HTTPS"].includes(httpGet.scheme)) {
      report.error(
        `httpGet.scheme must be one of "HTTP", "HTTPS", found ${JSON.stringify(httpGet.scheme)}`,
        "httpGet",
        "scheme",
      );
    }
    httpGet.httpHeaders.forEach(({ name }, index) => {
      report.error(probeHeaderReason(name), "httpGet", "httpHeaders", index);
    });
  } else if (tcpSocket !== undefined) report.error(portProblem(tcpSocket.port), "tcpSocket", "port");
  else if (exec !== undefined) report.error(exec.command.length === 0 ? "exec.command is required" : undefined, "exec");
  else if (grpc !== undefined) report.error(portProblem(grpc.port), "grpc", "port");
  else report.error("unknown health check method; allowed: httpGet, tcpSocket, exec, grpc");
}

/** As the kubelet has them, narrower than HTTP. */
function probeHeaderReason(name: string): string | undefined {
  if (name === "") return "invalid nil header";
  return /^[-A-Za-z0-9]+$/.test(name) ? undefined : `header name ${name} is not a valid header name`;
}
