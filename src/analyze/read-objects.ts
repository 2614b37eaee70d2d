import { locateYaml } from "../files/yaml/locate-yaml.ts";
import { splitDocuments } from "../files/yaml/split-documents.ts";
import { decodeObject } from "../istio-api/decode/decode-object.ts";
import { fields, labelsOf, textOf } from "../mesh-model/kubernetes-object.ts";
import type { AnalyzedObject } from "./analyzed-mesh.ts";

/** Kinds of the whole cluster; all others are in a namespace. */
const CLUSTER_KINDS: ReadonlySet<string> = new Set([
  "Namespace",
  "Node",
  "ClusterRole",
  "ClusterRoleBinding",
  "CustomResourceDefinition",
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
  "PersistentVolume",
  "StorageClass",
  "PriorityClass",
  "GatewayClass",
  "IngressClass",
]);

export interface ReadObjects {
  readonly objects: readonly AnalyzedObject[];
  /** Documents that are not YAML, or not objects. */
  readonly unreadable: readonly { readonly file: string; readonly line: number; readonly message: string }[];
}

/** All objects of a text of YAML or JSON documents; lists are taken apart. */
export function readObjects(source: string, file: string, defaultNamespace: string): ReadObjects {
  const objects: AnalyzedObject[] = [];
  const unreadable: ReadObjects["unreadable"][number][] = [];
  for (const document of splitDocuments(source)) {
    const parsed = locateYaml(document.text);
    if ("problem" in parsed) {
      unreadable.push({ file, line: parsed.position.line + document.linesBefore, message: parsed.problem });
      continue;
    }
    if (parsed.data === null || parsed.data === undefined) continue;
    const locate = createLocator(document.text, file, document.linesBefore);
    if (typeof parsed.data !== "object" || Array.isArray(parsed.data) || typeof fields(parsed.data).kind !== "string") {
      unreadable.push({ ...locate([]), message: "expected an object with apiVersion, kind and metadata" });
      continue;
    }
    const body = fields(parsed.data);
    if (!textOf(body.kind).endsWith("List") || !Array.isArray(body.items)) {
      objects.push(toAnalyzed(body, defaultNamespace, locate));
      continue;
    }
    (body.items as readonly unknown[]).forEach((item, at) => {
      objects.push(toAnalyzed(fields(item), defaultNamespace, (path) => locate(["items", at, ...path])));
    });
  }
  return { objects, unreadable };
}

/** Positions are asked for where something is found. The tree that knows them is large, so that it is made again for those that are. */
function createLocator(text: string, file: string, linesBefore: number): NonNullable<AnalyzedObject["locate"]> {
  let parsed: ReturnType<typeof locateYaml> | undefined;
  return (path) => {
    parsed ??= locateYaml(text);
    return { file, line: ("problem" in parsed ? parsed.position.line : parsed.locate(path).line) + linesBefore };
  };
}

/** One object, of a file or of a cluster. */
export function toAnalyzed(
  body: Readonly<Record<string, unknown>>,
  defaultNamespace: string,
  locate?: AnalyzedObject["locate"],
): AnalyzedObject {
  const { name, namespace, labels, annotations } = fields(body.metadata);
  const kind = textOf(body.kind);
  const decoded = decodeObject(body, { defaultNamespace });
  return {
    kind,
    apiVersion: textOf(body.apiVersion),
    namespace: CLUSTER_KINDS.has(kind) ? "" : textOf(namespace) || defaultNamespace,
    name: textOf(name),
    labels: labelsOf(labels),
    annotations: labelsOf(annotations),
    body,
    ...(locate && { locate }),
    ...(decoded.ignoredKind === undefined && { decoded }),
  };
}

const GATEWAY = "istio-ingressgateway";
const LABELS = { istio: "ingressgateway", app: GATEWAY };

/**
 * What an installation brings along and files of rules do not have: the ingress gateway that most Gateway objects select. Files that have
 * a gateway of these labels themselves need none.
 */
export function withDefaultGateway(objects: readonly AnalyzedObject[], namespace: string): readonly AnalyzedObject[] {
  const hasOwn = objects.some(({ kind, labels }) => kind === "Pod" && labels.istio === LABELS.istio);
  if (hasOwn) return objects;
  const metadata = { name: GATEWAY, namespace, labels: LABELS };
  const ports = [
    { name: "status-port", port: 15021, targetPort: 15021, protocol: "TCP" },
    { name: "http2", port: 80, targetPort: 8080, protocol: "TCP" },
    { name: "https", port: 443, targetPort: 8443, protocol: "TCP" },
  ];
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata,
    spec: { containers: [{ name: "istio-proxy", image: "istio/proxyv2" }] },
  };
  const service = { apiVersion: "v1", kind: "Service", metadata, spec: { selector: LABELS, ports } };
  return [...objects, toAnalyzed(pod, namespace), toAnalyzed(service, namespace)];
}
