import type { AnyConfigObject } from "../config-object.ts";
import { validateAuthorizationPolicy } from "./authorization-policy.ts";
import { validateDestinationRule } from "./destination-rule.ts";
import { validateEnvoyFilter } from "./envoy-filter.ts";
import { validateGateway } from "./gateway.ts";
import { validatePeerAuthentication } from "./peer-authentication.ts";
import { createReport, type Problem } from "./report.ts";
import { validateRequestAuthentication } from "./request-authentication.ts";
import { validateServiceEntry } from "./service-entry.ts";
import { validateSidecar } from "./sidecar.ts";
import { validateTelemetry } from "./telemetry.ts";
import { validateVirtualService } from "./virtual-service.ts";
import { validateWorkloadEntry } from "./workload-entry.ts";
import { validateWorkloadGroup } from "./workload-group.ts";

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
    case "Gateway":
      validateGateway(report, object);
      break;
    case "ProxyConfig":
      // Whoever wrote it must not believe that it is in force.
      report.warn(`${object.kind} is read and has no effect: no proxy gets anything of it`);
      break;
  }
  return problems;
}
