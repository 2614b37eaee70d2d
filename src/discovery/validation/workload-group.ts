import { portProblem } from "../../config/index.ts";
import type { WorkloadGroupSpec, WorkloadProbe } from "../specs/workload-group.ts";
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
  else {
    validateLabels(report.at("template", "labels"), template.labels);
    for (const [name, port] of Object.entries(template.ports)) {
      report.error(portNameReason(name), "template", "ports", name);
      report.error(portProblem(port), "template", "ports", name);
    }
  }
  validateLabels(report.at("metadata", "labels"), metadata?.labels ?? {});
  if (probe !== undefined) validateProbe(report.at("probe"), probe);
}

function validateProbe(report: Report, probe: WorkloadProbe): void {
  for (const name of PROBE_NUMBERS) report.error(nonNegativeReason(probe[name], name), name);
  const { httpGet, tcpSocket, exec, grpc } = probe;
  if (httpGet !== undefined) {
    report.error(portProblem(httpGet.port), "httpGet", "port");
    const scheme = httpGet.scheme.toLowerCase();
    if (scheme !== "" && scheme !== "http" && scheme !== "https") {
      report.error(
        `httpGet.scheme must be one of "http", "https", found ${JSON.stringify(httpGet.scheme)}`,
        "httpGet",
        "scheme",
      );
    }
    httpGet.httpHeaders.forEach(({ name }, index) => {
      report.error(name === "" ? "invalid nil header" : undefined, "httpGet", "httpHeaders", index);
    });
  } else if (tcpSocket !== undefined) report.error(portProblem(tcpSocket.port), "tcpSocket", "port");
  else if (exec !== undefined) report.error(exec.command.length === 0 ? "exec.command is required" : undefined, "exec");
  else if (grpc !== undefined) report.error(portProblem(grpc.port), "grpc", "port");
  else report.error("unknown health check method; allowed: httpGet, tcpSocket, exec, grpc");
}
