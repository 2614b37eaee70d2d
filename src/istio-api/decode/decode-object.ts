import { deepFreeze } from "../../base/deep-freeze.ts";
import { isJsonObject } from "../../base/json-object.ts";
import type { JsonDialect } from "../../protobuf/json/dialect.ts";
import { describeValue, RULE_JSON } from "../../protobuf/json/plain-dialects.ts";
import { type Path, type ReadMessage, readMessage } from "../../protobuf/json/read-message.ts";
import { MessageTables } from "../../protobuf/message-tables.ts";
import type { AnyConfigObject, ObjectRef } from "../config-object.ts";
import { isKind, istioMessage, KINDS, type Kind } from "../kinds.ts";
import type { Problem } from "../validation/report.ts";
import { validateObject } from "../validation/validate-object.ts";
import { isDnsLabel } from "../values/dns-name.ts";
import { type CredentialDocument, decodeCredential } from "./decode-credential.ts";
import { ignoredKindText, WITHOUT_EFFECT } from "./without-effect.ts";

export interface DecodedObject {
  /** Present when no problem is an error. */
  readonly object?: AnyConfigObject;
  /** An object that was understood and breaks rules of its kind: good for nothing but looking at it. */
  readonly draft?: AnyConfigObject;
  /** Which object was meant, as far as the document says. */
  readonly ref?: ObjectRef;
  /** Set when the document is of a kind that is none of ours. */
  readonly ignoredKind?: string;
  /** A Secret: not a rule, held apart from them, and its kind counts as ignored. */
  readonly credential?: CredentialDocument;
  readonly problems: readonly Problem[];
}

export interface DecodeOptions {
  /** For objects that name none. */
  readonly defaultNamespace: string;
  /** The object is of a cluster, whose pods are injected. */
  readonly isOfCluster?: boolean;
}

/** What is read of Kubernetes' ObjectMeta. */
const METADATA = new MessageTables({
  messages: { metadata: "name 1 s,namespace 3 s,labels 11 %ss,annotations 12 %ss" },
  enums: {},
}).message("metadata");
type Metadata = Pick<AnyConfigObject, "name" | "namespace" | "labels" | "annotations">;

const DIALECT: JsonDialect = { ...RULE_JSON, withoutEffect: WITHOUT_EFFECT };

/** Whoever wrote it must not believe that it is in force. */
const UNINJECTED =
  "ProxyConfig has no effect here: it is used when pods of a cluster are injected; the annotation proxy.istio.io/config or " +
  "defaultConfig of the mesh settings reaches other proxies";

/** One Kubernetes style object: envelope, spec and the rules of its kind; all its problems are reported at once. */
export function decodeObject(data: unknown, { defaultNamespace, isOfCluster }: DecodeOptions): DecodedObject {
  if (!isJsonObject(data)) return refuse([], "expected an object with apiVersion, kind, metadata and spec");
  const { apiVersion, kind } = data;
  if (kind === undefined || kind === null) return refuse([], "kind is missing");
  // Not made into text: an object may have a member that keeps it from becoming any.
  if (typeof kind !== "string") return refuse(["kind"], `expected text, found ${describeValue(kind)}`);
  if (kind === "Secret" && apiVersion === "v1") return readCredential(data, defaultNamespace);
  if (!isKind(kind))
    return {
      ignoredKind: kind,
      problems: [{ path: ["kind"], message: ignoredKindText(apiVersion, kind), severity: "warning" }],
    };
  const problems: Problem[] = [...versionProblems(kind, apiVersion)];
  const metadata = readMetadata(data.metadata, problems);
  const namespace = metadata.namespace === "" ? defaultNamespace : metadata.namespace;
  const ref = { kind, namespace, name: metadata.name };
  const spec = readMessage(istioMessage(KINDS[kind].spec), data.spec ?? {}, DIALECT, ["spec"]);
  const specProblems = spec.problems.map(toProblem);
  // One by one, here and below: there may be more than a call takes arguments.
  for (const problem of specProblems) problems.push(problem);
  const object = {
    ...ref,
    apiVersion: typeof apiVersion === "string" ? apiVersion : "",
    labels: metadata.labels,
    annotations: metadata.annotations,
    creationTime: readCreationTime(data.metadata, problems),
    spec: spec.value,
    ...(data.status === undefined ? {} : { status: data.status }),
    source: data,
  } as AnyConfigObject;
  // Rules are checked only on what was understood, so that one mistake is not reported twice.
  if (!hasErrors(specProblems)) for (const problem of validateObject(object)) problems.push(problem);
  if (kind === "ProxyConfig" && !isOfCluster)
    problems.push({ path: ["spec"], message: UNINJECTED, severity: "warning" });
  const named = metadata.name === "" ? {} : { ref };
  if (!hasErrors(problems)) return { ref, object: deepFreeze(object), problems };
  return { ...named, problems, ...(!hasErrors(specProblems) && { draft: object }) };
}

function readCredential(data: Readonly<Record<string, unknown>>, defaultNamespace: string): DecodedObject {
  const problems: Problem[] = [];
  const { name, namespace } = readMetadata(data.metadata, problems);
  const ignoredKind = "Secret";
  if (problems.length > 0) return { ignoredKind, problems };
  return {
    ignoredKind,
    ...decodeCredential(data, { name, namespace: namespace === "" ? defaultNamespace : namespace }),
  };
}

export function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some(({ severity }) => severity === "error");
}

const API_VERSIONS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(KINDS).map(([kind, { group, versions }]) => [kind, versions.map((version) => `${group}/${version}`)]),
);

function versionProblems(kind: Kind, apiVersion: unknown): readonly Problem[] {
  const allowed = API_VERSIONS.get(kind) ?? [];
  if (typeof apiVersion === "string" && allowed.includes(apiVersion)) return [];
  const found =
    apiVersion === undefined ? "apiVersion is missing" : `apiVersion ${JSON.stringify(apiVersion)} is unknown`;
  return [problemAt(["apiVersion"], `${found}; allowed for ${kind}: ${allowed.join(", ")}`)];
}

function readMetadata(data: unknown, problems: Problem[]): Metadata {
  const { value, problems: found } = readMessage(METADATA, data ?? {}, RULE_JSON, ["metadata"]);
  const metadata = value as unknown as Metadata;
  const { name, namespace } = metadata;
  // Kubernetes adds members (uid, managedFields ...) that mean nothing here.
  for (const problem of found.map(toProblem)) if (problem.severity === "error") problems.push(problem);
  const wrongName = nameProblem(name);
  if (wrongName !== undefined) problems.push(problemAt(["metadata", "name"], wrongName));
  const wrongNamespace = namespace === "" ? undefined : namespaceProblem(namespace);
  if (wrongNamespace !== undefined) problems.push(problemAt(["metadata", "namespace"], wrongNamespace));
  return metadata;
}

function readCreationTime(metadata: unknown, problems: Problem[]): number {
  const stamp = isJsonObject(metadata) ? metadata.creationTimestamp : undefined;
  if (stamp === undefined || stamp === null) return 0;
  const time = typeof stamp === "string" ? Date.parse(stamp) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  problems.push(
    problemAt(["metadata", "creationTimestamp"], `${JSON.stringify(stamp)} is not a time like "2026-08-22T20:00:00Z"`),
  );
  return 0;
}

/** A member that a message does not have, or that does nothing, is a warning. */
function toProblem({ path, code, message }: ReadMessage["problems"][number]): Problem {
  if (code === "no-effect") return { path, message, severity: "warning" };
  if (code !== "unknown") return { path, message, severity: "error" };
  return { path, message: `${message}, it is ignored`, severity: "warning" };
}

function refuse(path: Path, text: string): DecodedObject {
  return { problems: [problemAt(path, text)] };
}

function problemAt(path: Path, text: string): Problem {
  return { path, message: text, severity: "error" };
}

/** Undefined for a name that Kubernetes would take: lower case letters, digits, hyphens and dots. */
function nameProblem(name: string): string | undefined {
  if (name === "") return "name is missing";
  if (name.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name)) return undefined;
  return `name ${JSON.stringify(name)} is invalid; allowed: lower case letters, digits, '-' and '.', at most 253`;
}

function namespaceProblem(namespace: string): string | undefined {
  if (isDnsLabel(namespace) && namespace === namespace.toLowerCase()) return undefined;
  return `namespace ${JSON.stringify(namespace)} is invalid; allowed: lower case letters, digits and '-', at most 63`;
}
