import type { AdmissionRequest, Reviewer, Verdict } from "../../admission/index.ts";
import type { Logger } from "../../base/logger.ts";
import { decodeObject } from "../../istio-api/decode/decode-object.ts";
import { isKind, KINDS } from "../../istio-api/kinds.ts";
import type { Problem } from "../../istio-api/validation/report.ts";
import { fields, labelsOf, textOf } from "../../mesh-model/kubernetes-object.ts";
import { formatPath } from "../../protobuf/json/read-message.ts";
import type { WebhookMetrics } from "./metrics.ts";

/** An object with this annotation is refused whatever it holds: so is found out whether an API server asks us. */
export const ALWAYS_REJECT = "internal.istio.io/webhook-always-reject";

const TOP_LEVEL = new Set(["apiVersion", "kind", "metadata", "spec", "status"]);
/** Kinds of the reference that nothing here gives an effect to; its installations have them all the same. */
const WITHOUT_EFFECT = new Set(["TrafficExtension"]);
const MAX_PROBLEMS = 20;

type Reason =
  | "unsupported_operation"
  | "yaml_decode_error"
  | "unknown_type"
  | "crd_conversion_error"
  | "invalid_resource";

/** Reviews of rule objects, as the path `/validate` gets them. */
export function createRuleReviewer(metrics: WebhookMetrics, log: Logger): Reviewer {
  const refused = (request: AdmissionRequest, reason: Reason, message: string): Verdict => {
    const { group, version, resource } = request.resource;
    // A dry run changes nothing, and so do its failures.
    if (!request.isDryRun) metrics.validationFailed.inc([group, version, resource, reason]);
    if (!(ALWAYS_REJECT in annotationsOf(request)))
      log.info("rule object is refused", { object: nameOf(request), reason, error: message, dryRun: request.isDryRun });
    return { allowed: false, message };
  };
  return {
    onHttpError: (status) => metrics.validationHttpErrors.inc([String(status)]),
    review: (request) => {
      const { operation, object, namespace } = request;
      if (operation !== "CREATE" && operation !== "UPDATE") {
        log.warn("operation is not validated", { operation, object: nameOf(request) });
        if (!request.isDryRun) {
          const { group, version, resource } = request.resource;
          metrics.validationFailed.inc([group, version, resource, "unsupported_operation"]);
        }
        return { allowed: true };
      }
      const members = fields(object);
      if (members !== object)
        return refused(request, "yaml_decode_error", "cannot decode configuration: the review has no object");
      const kind = textOf(members.kind) || request.kind.kind;
      if (WITHOUT_EFFECT.has(kind)) return passed(request, metrics, [`${kind} has no effect on this control plane`]);
      const { group } = request.kind;
      if (!isKind(kind) || (group !== "" && KINDS[kind].group !== group)) {
        const known = Object.keys(KINDS).join(", ");
        const type = `${textOf(members.apiVersion) || group}, Kind=${kind}`;
        return refused(request, "unknown_type", `unrecognized type ${type}; validated are ${known}`);
      }
      const { problems } = decodeObject(
        { ...members, kind },
        { defaultNamespace: namespace || "default", isOfCluster: true },
      );
      const errors = problems.filter(({ severity }) => severity === "error");
      if (errors.length > 0) return refused(request, "invalid_resource", `configuration is invalid: ${shown(errors)}`);
      if (ALWAYS_REJECT in annotationsOf(request))
        return refused(request, "invalid_resource", `configuration is invalid: annotation ${ALWAYS_REJECT} is set`);
      const unknown = Object.keys(members).find((name) => !TOP_LEVEL.has(name));
      if (unknown !== undefined) {
        const text = `unknown field ${JSON.stringify(unknown)} on ${nameOf({ ...request, kind: { ...request.kind, kind: `${kind} resource` } })}`;
        return refused(request, "invalid_resource", `${text}; allowed are ${[...TOP_LEVEL].join(", ")}`);
      }
      return passed(request, metrics, problems.map(problemText));
    },
  };
}

function passed({ resource }: AdmissionRequest, metrics: WebhookMetrics, warnings: readonly string[]): Verdict {
  metrics.validationPassed.inc([resource.group, resource.version, resource.resource]);
  return { allowed: true, warnings: warnings.slice(0, MAX_PROBLEMS) };
}

function shown(errors: readonly Problem[]): string {
  const texts = errors.slice(0, MAX_PROBLEMS).map(problemText);
  if (errors.length > MAX_PROBLEMS) texts.push(`and ${errors.length - MAX_PROBLEMS} more`);
  return texts.join("; ");
}

function problemText({ path, message }: Problem): string {
  return path.length === 0 ? message : `${formatPath(path)}: ${message}`;
}

function annotationsOf({ object }: AdmissionRequest): Readonly<Record<string, string>> {
  return labelsOf(fields(fields(object).metadata).annotations);
}

function nameOf({ kind, namespace, name, object }: AdmissionRequest): string {
  return `${kind.kind} ${namespace}/${name || textOf(fields(fields(object).metadata).name)}`;
}
