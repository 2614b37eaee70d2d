import type { AdmissionRequest, Verdict } from "../../admission/index.ts";
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

/** A verdict, and what log and metrics say of it: plain data, so that another thread can come to it. */
export interface ReviewedRule {
  readonly verdict: Verdict;
  readonly resource: AdmissionRequest["resource"];
  readonly object: string;
  readonly isDryRun: boolean;
  readonly outcome:
    | { readonly type: "passed" }
    | { readonly type: "unsupported"; readonly operation: string }
    /** `isTrial`: the object asked for it, so that no log needs a line. */
    | { readonly type: "refused"; readonly reason: Reason; readonly message: string; readonly isTrial: boolean };
}

/** Reviews a rule object, as the path `/validate` gets it. */
export function reviewRule(request: AdmissionRequest): ReviewedRule {
  const { operation, object, namespace, resource, isDryRun } = request;
  const common = { resource, object: nameOf(request), isDryRun };
  const refused = (reason: Reason, message: string): ReviewedRule => {
    const isTrial = ALWAYS_REJECT in annotationsOf(request);
    const outcome = { type: "refused", reason, message, isTrial } as const;
    return { ...common, verdict: { allowed: false, message }, outcome };
  };
  const passed = (warnings: readonly string[]): ReviewedRule => ({
    ...common,
    verdict: { allowed: true, warnings: warnings.slice(0, MAX_PROBLEMS) },
    outcome: { type: "passed" },
  });
  if (operation !== "CREATE" && operation !== "UPDATE")
    return { ...common, verdict: { allowed: true }, outcome: { type: "unsupported", operation } };
  const members = fields(object);
  if (members !== object) return refused("yaml_decode_error", "cannot decode configuration: the review has no object");
  const kind = textOf(members.kind) || request.kind.kind;
  if (WITHOUT_EFFECT.has(kind)) return passed([`${kind} has no effect on this control plane`]);
  const { group } = request.kind;
  if (!isKind(kind) || (group !== "" && KINDS[kind].group !== group)) {
    const known = Object.keys(KINDS).join(", ");
    const type = `${textOf(members.apiVersion) || group}, Kind=${kind}`;
    return refused("unknown_type", `unrecognized type ${type}; validated are ${known}`);
  }
  const { problems } = decodeObject(
    { ...members, kind },
    { defaultNamespace: namespace || "default", isOfCluster: true },
  );
  const errors = problems.filter(({ severity }) => severity === "error");
  if (errors.length > 0) return refused("invalid_resource", `configuration is invalid: ${shown(errors)}`);
  if (ALWAYS_REJECT in annotationsOf(request))
    return refused("invalid_resource", `configuration is invalid: annotation ${ALWAYS_REJECT} is set`);
  const unknown = Object.keys(members).find((name) => !TOP_LEVEL.has(name));
  if (unknown !== undefined) {
    const text = `unknown field ${JSON.stringify(unknown)} on ${nameOf({ ...request, kind: { ...request.kind, kind: `${kind} resource` } })}`;
    return refused("invalid_resource", `${text}; allowed are ${[...TOP_LEVEL].join(", ")}`);
  }
  return passed(problems.map(problemText));
}

/** Writes down what came of a review, whichever thread it was made in. */
export function recordRule(
  { resource, object, isDryRun, outcome }: ReviewedRule,
  metrics: WebhookMetrics,
  log: Logger,
): void {
  const of = [resource.group, resource.version, resource.resource];
  // A dry run changes nothing, and so do its failures.
  const failed = (reason: Reason) => !isDryRun && metrics.validationFailed.inc([...of, reason]);
  switch (outcome.type) {
    case "passed":
      metrics.validationPassed.inc(of);
      return;
    case "unsupported":
      log.warn("operation is not validated", { operation: outcome.operation, object });
      failed("unsupported_operation");
      return;
    case "refused":
      failed(outcome.reason);
      if (!outcome.isTrial)
        log.info("rule object is refused", {
          object,
          reason: outcome.reason,
          error: outcome.message,
          dryRun: isDryRun,
        });
  }
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
