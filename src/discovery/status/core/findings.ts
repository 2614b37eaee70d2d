import { type ObjectRef, objectKey } from "../../../istio-api/config-object.ts";
import type { DocumentProblem } from "../../../istio-api/decode/parse-config-text.ts";
import type { RuleProblem } from "../../../mesh-model/push-snapshot.ts";
import type { CredentialProblem } from "../../credentials/credential-problems.ts";

/** One thing that an operator should know about a rule object. */
export interface Finding {
  /** One word: of the condition, and of the Event. */
  readonly reason: "Invalid" | "Warning" | "NotFollowed" | "CredentialMissing";
  readonly level: "ERROR" | "WARNING";
  /** As the reference's analysis calls it, for tools that read it. */
  readonly type: { readonly code: string; readonly name: string };
  readonly message: string;
}

const TYPES = {
  Invalid: { code: "IST0106", name: "SchemaValidationError" },
  Warning: { code: "IST0133", name: "SchemaWarning" },
  NotFollowed: { code: "IST0109", name: "ConflictingMeshGatewayVirtualServiceHosts" },
  CredentialMissing: { code: "IST0101", name: "ReferencedResourceNotFound" },
} as const;

export interface FindingSources {
  readonly documents: readonly DocumentProblem[];
  readonly rules: readonly RuleProblem[];
  readonly credentials: readonly CredentialProblem[];
}

/** By key of the object, each finding once. */
export function collectFindings({
  documents,
  rules,
  credentials,
}: FindingSources): ReadonlyMap<string, readonly Finding[]> {
  const found = new Map<string, Map<string, Finding>>();
  const add = (object: ObjectRef, reason: Finding["reason"], message: string) => {
    const key = objectKey(object);
    const known = found.get(key) ?? new Map<string, Finding>();
    const level = reason === "Warning" || reason === "NotFollowed" ? "WARNING" : "ERROR";
    found.set(key, known.set(`${reason} ${message}`, { reason, level, type: TYPES[reason], message }));
  };
  for (const { object, severity, field, message } of documents)
    if (object !== undefined)
      add(object, severity === "error" ? "Invalid" : "Warning", field === "" ? message : `${field}: ${message}`);
  for (const { object, message } of rules) add(object, "NotFollowed", message);
  for (const { gateways, resource, namespace, reason } of credentials)
    for (const gateway of gateways)
      add(gateway, "CredentialMissing", `${resource} for gateways of namespace ${namespace}: ${reason}`);
  return new Map([...found].map(([key, findings]) => [key, [...findings.values()]]));
}
