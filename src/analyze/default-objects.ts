import type { AnalyzedObject } from "./analyzed-mesh.ts";
import { toAnalyzed } from "./read-objects.ts";

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
