import type { AnyConfigObject, ConfigObject } from "../config-object.ts";
import type {
  DestinationRuleSpec,
  JwtRule,
  RequestAuthenticationSpec,
  WorkloadEntrySpec,
  WorkloadGroupSpec,
  WorkloadProbe,
} from "../specs.ts";
import { portProblem } from "../values/address.ts";
import { wildcardDomainProblem } from "../values/dns-name.ts";
import { validateAuthorizationPolicy } from "./authorization-policy.ts";
import { subsetNameReason } from "./destination.ts";
import { validateEnvoyFilter } from "./envoy-filter.ts";
import { validateExportTo } from "./export-to.ts";
import { validateGateway } from "./gateway.ts";
import { headerNameReason, headerTextReason } from "./headers.ts";
import { validateLabels, validateSelector } from "./labels.ts";
import { validatePeerAuthentication } from "./peer-authentication.ts";
import { createReport, each, type Problem, type Report } from "./report.ts";
import { isEmptyKeySet, keySetReason } from "./request-authentication-keys.ts";
import { validateServiceEntry } from "./service-entry.ts";
import { validateSidecar } from "./sidecar.ts";
import { validateTargetRefs } from "./target-ref.ts";
import { validateTelemetry } from "./telemetry.ts";
import { validateTrafficPolicy } from "./traffic-policy.ts";
import { durationReason, nonNegativeReason, portNameReason } from "./values.ts";
import { validateVirtualService } from "./virtual-service.ts";
import { validateWasmPlugin } from "./wasm-plugin.ts";
import { validateWorkloadEntry } from "./workload-entry.ts";

const PROBE_NUMBERS = [
  "initialDelaySeconds",
  "timeoutSeconds",
  "periodSeconds",
  "successThreshold",
  "failureThreshold",
] as const;

/** Every broken rule of an object's spec. Kinds without rules of their own have none to break. */
export function validateObject(object: AnyConfigObject): readonly Problem[] {
  const problems: Problem[] = [];
  const report = createReport(problems, ["spec"]);
  switch (object.kind) {
    case "ServiceEntry":
      validateServiceEntry(report, object);
      break;
    case "WorkloadEntry":
      validateWorkloadEntry(report, object.spec);
      break;
    case "WorkloadGroup":
      validateWorkloadGroup(report, object.spec);
      break;
    case "VirtualService":
      validateVirtualService(report, object);
      break;
    case "DestinationRule":
      validateDestinationRule(report, object);
      break;
    case "Sidecar":
      validateSidecar(report, object.spec);
      break;
    case "PeerAuthentication":
      validatePeerAuthentication(report, object);
      break;
    case "AuthorizationPolicy":
      validateAuthorizationPolicy(report, object.spec);
      break;
    case "RequestAuthentication":
      validateRequestAuthentication(report, object.spec);
      break;
    case "EnvoyFilter":
      validateEnvoyFilter(report, object.spec);
      break;
    case "Telemetry":
      validateTelemetry(report, object.spec);
      break;
    case "WasmPlugin":
      validateWasmPlugin(report, object.spec);
      break;
    case "Gateway":
      validateGateway(report, object);
      break;
    case "ProxyConfig":
      validateSelector(report.at("selector", "matchLabels"), object.spec.selector?.matchLabels ?? {});
      break;
  }
  return problems;
}

/** How traffic to a host is treated once it is routed there. */
function validateDestinationRule(report: Report, { spec, namespace }: ConfigObject<"DestinationRule">): void {
  const hasSelector = spec.workloadSelector !== undefined;
  report.error(wildcardDomainProblem(spec.host), "host");
  if (spec.workloadSelector !== undefined) {
    validateSelector(report.at("workloadSelector", "matchLabels"), spec.workloadSelector.matchLabels);
  }
  validateTrafficPolicy(report.at("trafficPolicy"), spec.trafficPolicy, hasSelector);
  validateSubsets(report, spec, hasSelector);
  validateExportTo(report, spec.exportTo, { namespace, kind: "DestinationRule", hasSelector });
}

function validateSubsets(report: Report, { subsets }: DestinationRuleSpec, hasSelector: boolean): void {
  const names = new Set<string>();
  each(report, "subsets", subsets, (at, { name, labels, trafficPolicy }) => {
    at.error(names.has(name) ? `duplicate subset names: ${name}` : undefined, "name");
    names.add(name);
    at.error(subsetNameReason(name), "name");
    validateLabels(at.at("labels"), labels);
    validateTrafficPolicy(at.at("trafficPolicy"), trafficPolicy, hasSelector);
  });
}

/** The template of workloads that register themselves; it has no address yet. */
function validateWorkloadGroup(report: Report, { metadata, template, probe }: WorkloadGroupSpec): void {
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

/** Whose tokens a workload takes. */
function validateRequestAuthentication(report: Report, spec: RequestAuthenticationSpec): void {
  validateSelector(report.at("selector", "matchLabels"), spec.selector?.matchLabels ?? {});
  validateTargetRefs(report, spec);
  each(report, "jwtRules", spec.jwtRules, validateJwtRule);
}

function validateJwtRule(report: Report, rule: JwtRule): void {
  const { issuer, jwksUri, jwks, timeout } = rule;
  report.error(durationReason(timeout), "timeout");
  if (issuer === "" && jwksUri === "") report.error("issuer or jwksUri must be non-empty string");
  each(report, "audiences", rule.audiences, nonEmpty("audience must be non-empty string"));
  if (jwksUri !== "") report.error(uriReason(jwksUri), "jwksUri");
  const reason = jwks === "" ? undefined : keySetReason(jwks);
  if (jwks !== "" && isEmptyKeySet(jwks)) report.warn("a key set without keys accepts no token", "jwks");
  else if (reason !== undefined) report.error(`jwks parse error: ${reason}`, "jwks");
  each(report, "fromHeaders", rule.fromHeaders, (at, { name, prefix }) => {
    at.error(name === "" ? "location header name must be non-empty string" : headerNameReason(name), "name");
    at.error(headerTextReason(prefix), "prefix");
  });
  each(report, "fromParams", rule.fromParams, nonEmpty("location query must be non-empty string"));
  each(report, "fromCookies", rule.fromCookies, nonEmpty("cookie name must be non-empty string"));
  if (rule.outputPayloadToHeader !== "") {
    report.error(headerNameReason(rule.outputPayloadToHeader), "outputPayloadToHeader");
  }
  each(report, "outputClaimToHeaders", rule.outputClaimToHeaders, (at, { header, claim }) => {
    if (header === "" || claim === "") at.error("outputClaimToHeader header and claim value must be non-empty string");
    // Envoy makes a header of it by itself, and takes fewer characters than HTTP.
    else if (!/^[-_A-Za-z0-9]+$/.test(header)) at.error(`header name ${header} is not a valid header name`, "header");
  });
}

function nonEmpty(message: string) {
  return (report: Report, value: string) => report.error(value === "" ? message : undefined);
}

function uriReason(uri: string): string | undefined {
  const isUrl = URL.canParse(uri) && ["http:", "https:"].includes(new URL(uri).protocol);
  return isUrl ? undefined : `${uri} is not an http or https URL`;
}
