import type { ClientTls, OutlierDetection, PortTrafficPolicy, TrafficPolicy } from "../specs.ts";
import { portProblem } from "../values/address.ts";
import { tlsSettingsProblems } from "../values/tls-settings.ts";
import { validateConnectionPool } from "./connection-pool.ts";
import { validateLoadBalancer } from "./load-balancer.ts";
import { each, type Report } from "./report.ts";
import { durationReason, isIpOrFqdn, percentReason } from "./values.ts";

/** `hasSelector`: the rule is for some workloads only, which may use credentials. */
export function validateTrafficPolicy(report: Report, policy: TrafficPolicy | undefined, hasSelector: boolean): void {
  if (policy === undefined) return;
  const { portLevelSettings, tunnel, proxyProtocol, retryBudget } = policy;
  const hasOther = portLevelSettings.length > 0 || tunnel !== undefined || proxyProtocol !== undefined;
  if (!hasOther && retryBudget === undefined && !hasCommon(policy))
    report.error("traffic policy must have at least one field");
  validateCommon(report, policy, hasSelector);
  if (tunnel !== undefined) validateTunnel(report.at("tunnel"), tunnel);
  if (tunnel !== undefined && proxyProtocol !== undefined) {
    report.error("tunnel and proxyProtocol must not be set together", "tunnel");
  }
  if (retryBudget !== undefined) report.error(percentReason(retryBudget.percent), "retryBudget", "percent");
  const ports = new Set<number>();
  each(report, "portLevelSettings", portLevelSettings, (at, settings) => {
    const port = settings.port?.number ?? 0;
    at.error(portProblem(port) === undefined ? undefined : "portTrafficPolicy must have valid port", "port");
    if (ports.has(port)) at.warn(`portLevelSettings for port ${port} are given twice, the first are used`, "port");
    ports.add(port);
    if (!hasCommon(settings)) at.error("port traffic policy must have at least one field");
    validateCommon(at, settings, hasSelector);
  });
}

type Common = Pick<PortTrafficPolicy, "loadBalancer" | "connectionPool" | "outlierDetection" | "tls">;

function hasCommon({ loadBalancer, connectionPool, outlierDetection, tls }: Common): boolean {
  return [loadBalancer, connectionPool, outlierDetection, tls].some((member) => member !== undefined);
}

function validateCommon(report: Report, policy: Common, hasSelector: boolean): void {
  validateLoadBalancer(report.at("loadBalancer"), policy.loadBalancer);
  validateConnectionPool(report.at("connectionPool"), policy.connectionPool);
  if (policy.outlierDetection !== undefined) validateOutliers(report.at("outlierDetection"), policy.outlierDetection);
  if (policy.tls !== undefined) validateTls(report.at("tls"), policy.tls, hasSelector);
}

function validateOutliers(report: Report, detection: OutlierDetection): void {
  report.error(durationReason(detection.interval), "interval");
  report.error(durationReason(detection.baseEjectionTime), "baseEjectionTime");
  report.error(percentReason(detection.maxEjectionPercent), "maxEjectionPercent");
  report.error(percentReason(detection.minHealthPercent), "minHealthPercent");
  if (!detection.splitExternalLocalOriginErrors && (detection.consecutiveLocalOriginFailures ?? 0) > 0) {
    report.error(
      "outlier detection consecutive local origin failures is specified, but split external local origin errors is set to false",
      "consecutiveLocalOriginFailures",
    );
  }
  if (detection.consecutiveErrors !== 0) {
    report.warn(
      "outlier detection consecutive errors is deprecated, use consecutiveGatewayErrors or consecutive5xxErrors instead",
      "consecutiveErrors",
    );
  }
}

function validateTls(report: Report, tls: ClientTls, hasSelector: boolean): void {
  for (const problem of tlsSettingsProblems(tls)) report.error(problem);
  const uses = tls.mode === "SIMPLE" || tls.mode === "MUTUAL";
  if (uses && tls.credentialName !== "" && !hasSelector) {
    report.warn("credentialName has an effect only on gateways and in rules with a workloadSelector", "credentialName");
  }
}

function validateTunnel(report: Report, tunnel: NonNullable<TrafficPolicy["tunnel"]>): void {
  const { protocol, targetHost, targetPort } = tunnel;
  if (protocol !== "" && protocol !== "CONNECT" && protocol !== "POST") {
    report.error(`tunnel protocol must be "CONNECT" or "POST", found ${JSON.stringify(protocol)}`, "protocol");
  }
  if (!isIpOrFqdn(targetHost))
    report.error(`tunnel target host must be valid FQDN or IP address: ${targetHost}`, "targetHost");
  const reason = portProblem(targetPort);
  report.error(reason === undefined ? undefined : `tunnel target port is invalid: ${reason}`, "targetPort");
}
