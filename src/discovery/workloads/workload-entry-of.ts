import type { ConfigObject } from "../../istio-api/config-object.ts";
import { AUTO_REGISTRATION_GROUP } from "../../mesh-model/endpoint.ts";
import { formatLocality } from "../../mesh-model/locality.ts";
import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";

/** Names of annotations are those of the reference: tools and people look for them. */
export const REGISTRATION = {
  group: AUTO_REGISTRATION_GROUP,
  controller: "istio.io/workloadController",
  connectedAt: "istio.io/connectedAt",
  disconnectedAt: "istio.io/disconnectedAt",
  healthChecks: "proxy.istio.io/health-checks-enabled",
} as const;

const MAX_NAME = 253;

/** `GROUP-ADDRESS[-NETWORK]`, of which the end counts where it is too long for a name. */
export function registeredName(group: string, { addresses: [address = ""], network }: ProxyNode): string {
  // An IPv6 address may begin or end with a colon, a name neither with a hyphen.
  const word = address.replace(/^:/, "0:").replace(/:$/, ":0").replaceAll(":", "-");
  return [group, word, ...(network === "" ? [] : [network])].join("-").slice(-MAX_NAME);
}

export interface Registration {
  readonly controller: string;
  readonly connectedAt: number;
}

/** The entry of a workload as a document. Labels: those of the node over the group's metadata over its template. */
export function workloadEntryOf(
  node: ProxyNode,
  { spec, name: group, apiVersion }: ConfigObject<"WorkloadGroup">,
  { controller, connectedAt }: Registration,
): Record<string, unknown> {
  const template = spec.template;
  const labels = { ...template?.labels, ...spec.metadata?.labels, ...nodeLabels(node) };
  const locality = formatLocality(node.locality) || (template?.locality ?? "");
  const network = node.network || (template?.network ?? "");
  return {
    apiVersion,
    kind: "WorkloadEntry",
    metadata: {
      name: registeredName(group, node),
      namespace: node.namespace,
      labels,
      annotations: {
        ...spec.metadata?.annotations,
        [REGISTRATION.group]: group,
        [REGISTRATION.controller]: controller,
        [REGISTRATION.connectedAt]: new Date(connectedAt).toISOString(),
        ...(hasReadinessProbe(node) && { [REGISTRATION.healthChecks]: "true" }),
      },
    },
    spec: {
      address: node.addresses[0],
      labels,
      ...(Object.keys(template?.ports ?? {}).length > 0 && { ports: template?.ports }),
      ...(locality !== "" && { locality }),
      ...(network !== "" && { network }),
      ...(template?.serviceAccount && { serviceAccount: template.serviceAccount }),
      ...(template?.weight && { weight: template.weight }),
    },
  };
}

/** As the node sent them: labels that the control plane adds are its own. The locality has a member of its own in the entry. */
function nodeLabels({ metadata }: ProxyNode): Record<string, string> {
  const { "istio-locality": _, ...labels } = (metadata.LABELS ?? {}) as Record<string, string>;
  return labels;
}

function hasReadinessProbe({ metadata }: ProxyNode): boolean {
  const config = metadata.PROXY_CONFIG as { readonly readinessProbe?: unknown } | undefined;
  return config?.readinessProbe !== undefined && config.readinessProbe !== null;
}
