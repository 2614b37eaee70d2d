import {
  fields,
  type KubernetesObject,
  labelsOf,
  listOf,
  numberOf,
  textOf,
  texts,
} from "../../../mesh-model/kubernetes-object.ts";

/** What the model needs of an EndpointSlice. */
export interface ReducedSlice {
  readonly name: string;
  readonly namespace: string;
  /** Name of the Service in the same namespace. */
  readonly service: string;
  readonly isIpv6: boolean;
  readonly ports: readonly { readonly name: string; readonly port: number }[];
  readonly endpoints: readonly ReducedEndpoint[];
}

export interface ReducedEndpoint {
  readonly addresses: readonly string[];
  readonly condition: EndpointCondition;
  /** `namespace/name`; absent where somebody else than Kubernetes wrote the slice. */
  readonly pod?: string;
}

/** `draining` still serves and will end, `terminating` does not serve any more. */
export type EndpointCondition = "ready" | "unready" | "draining" | "terminating";

/** Undefined for slices that belong to no service, or hold names instead of addresses. */
export function reduceSlice(object: KubernetesObject): ReducedSlice | undefined {
  const { metadata = {} } = object;
  const { addressType, endpoints, ports } = object as Readonly<Record<string, unknown>>;
  const labels = labelsOf(metadata.labels);
  const service = labels["kubernetes.io/service-name"] ?? "";
  // Headless copies of a multi-cluster service belong to its import, not to a Service here.
  if (service === "" || addressType === "FQDN" || Object.hasOwn(labels, "multicluster.kubernetes.io/service-name")) {
    return undefined;
  }
  const namespace = metadata.namespace ?? "";
  return {
    name: metadata.name ?? "",
    namespace,
    service,
    isIpv6: addressType === "IPv6",
    ports: listOf(ports).map(({ name, port }) => ({ name: textOf(name), port: numberOf(port) })),
    endpoints: listOf(endpoints).map((endpoint) => reduceEndpoint(endpoint, namespace)),
  };
}

function reduceEndpoint(
  { addresses, conditions, targetRef }: Readonly<Record<string, unknown>>,
  sliceNamespace: string,
): ReducedEndpoint {
  const { kind, name, namespace } = fields(targetRef);
  const pod = kind === "Pod" ? `${textOf(namespace) || sliceNamespace}/${textOf(name)}` : undefined;
  return {
    addresses: texts(addresses),
    condition: conditionOf(fields(conditions)),
    ...(pod !== undefined && { pod }),
  };
}

/** What a slice does not say counts as true. */
function conditionOf({ ready, serving, terminating }: Readonly<Record<string, unknown>>): EndpointCondition {
  if (ready !== false) return "ready";
  if (terminating === false) return "unready";
  return serving === false ? "terminating" : "draining";
}
