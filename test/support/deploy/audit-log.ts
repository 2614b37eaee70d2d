import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** One request to an API server: whether it was allowed, and what RBAC is asked about it. */
export interface AuditedRequest {
  readonly verb: string;
  /** Of the core group: the plural alone; others with their group; with the subresource. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly isAllowed: boolean;
}

export interface AuditLog {
  /** For `startKubernetes`. */
  readonly apiServerFlags: readonly string[];
  /** All requests of a user so far. */
  requests(user: string): readonly AuditedRequest[];
}

const POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  // What is written at arrival does not know the decision yet.
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
};

/** The API server's own record of who asked for what. */
export function createAuditLog(folder: string): AuditLog {
  const [policy, log] = [join(folder, "audit-policy.yaml"), join(folder, "audit.log")];
  writeFileSync(policy, JSON.stringify(POLICY));
  return {
    apiServerFlags: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`, "--audit-log-mode=blocking"],
    requests: (user) =>
      (existsSync(log) ? readFileSync(log, "utf8") : "")
        .split("\n")
        .filter((line) => line.endsWith("}"))
        .map((line) => JSON.parse(line) as AuditEvent)
        .filter((event) => event.user.username === user && event.objectRef !== undefined)
        .map(toRequest),
  };
}

interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: Readonly<
    Record<"apiGroup" | "resource" | "subresource" | "namespace" | "name", string | undefined>
  >;
  readonly annotations?: Readonly<Record<string, string>>;
}

function toRequest({ verb, objectRef, annotations = {} }: AuditEvent): AuditedRequest {
  const { apiGroup, resource = "", subresource, namespace = "", name = "" } = { ...objectRef };
  const path = subresource === undefined ? resource : `${resource}/${subresource}`;
  return {
    verb,
    resource: apiGroup === undefined ? path : `${path}.${apiGroup}`,
    namespace,
    name,
    isAllowed: annotations["authorization.k8s.io/decision"] === "allow",
  };
}
