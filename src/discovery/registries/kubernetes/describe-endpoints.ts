import { groupBy } from "../../../mesh-model/lists.ts";
import { labelledLocality } from "../../../mesh-model/locality.ts";
import type { DescribedEndpoint, EndpointObject } from "../../../mesh-model/service-registry.ts";
import { objectsOfWorkload, type Workload } from "../convert-workload.ts";
import { convertSlice, convertWorkloads, findPod, type PodLookup, withoutRepeated } from "./convert-endpoints.ts";
import type { PodOrigin } from "./convert-pod.ts";
import type { ReducedNode } from "./reduce-object.ts";
import type { ReducedPod } from "./reduce-pod.ts";
import type { ReducedService } from "./reduce-service.ts";
import type { ReducedSlice } from "./reduce-slice.ts";

export interface DescribeOptions {
  readonly service: ReducedService;
  readonly slices: readonly ReducedSlice[];
  /** WorkloadEntries of the service's namespace. */
  readonly workloads: readonly Workload[];
  readonly pods: PodLookup;
  readonly node: (name: string) => ReducedNode | undefined;
  readonly origin: PodOrigin;
}

/** The endpoints of a Service as they are made, one after the other, so that it shows which objects each of them comes from. */
export function describeEndpoints(options: DescribeOptions): readonly DescribedEndpoint[] {
  const { service, slices, workloads, origin } = options;
  const behind = workloads.flatMap((workload) =>
    convertWorkloads(service, [workload], origin).map((endpoint) => ({
      endpoint,
      objects: objectsOfWorkload(workload),
    })),
  );
  return [...counted(slices.flatMap((slice) => describeSlice(slice, options))), ...behind];
}

function describeSlice(slice: ReducedSlice, options: DescribeOptions): readonly DescribedEndpoint[] {
  const { service, pods, origin } = options;
  const { clusterId: cluster } = origin;
  const own: EndpointObject = { kind: "EndpointSlice", namespace: slice.namespace, name: slice.name, cluster };
  return slice.endpoints.flatMap((one) =>
    one.addresses.flatMap((address) => {
      const made = convertSlice({ ...slice, endpoints: [{ ...one, addresses: [address] }] }, service, pods, origin);
      const pod = findPod(address, one, slice, pods)?.pod;
      const objects = pod === undefined ? [own] : [own, ...objectsOfPod(pod, options)];
      return made.map((endpoint) => ({ endpoint, objects }));
    }),
  );
}

/** The Node says where the pod is, unless the pod does. */
function objectsOfPod(pod: ReducedPod, { node, origin }: DescribeOptions): readonly EndpointObject[] {
  const { namespace, name, nodeName, labels } = pod;
  const { clusterId: cluster } = origin;
  const own: EndpointObject = { kind: "Pod", namespace, name, cluster };
  const { region = "", zone = "", subzone = "" } = node(nodeName)?.locality ?? {};
  const isPlaced = labelledLocality(labels) === "" && `${region}${zone}${subzone}` !== "";
  return isPlaced ? [own, { kind: "Node", namespace: "", name: nodeName, cluster }] : [own];
}

/** Those that count, each with the slices that describe it as well. */
function counted(all: readonly DescribedEndpoint[]): readonly DescribedEndpoint[] {
  const counts = new Set(withoutRepeated(all.map(({ endpoint }) => endpoint)));
  if (counts.size === all.length) return all;
  const placeOf = ({ endpoint: { addresses, servicePortName } }: DescribedEndpoint) =>
    `${addresses[0]} ${servicePortName}`;
  const others = groupBy(
    all.filter(({ endpoint }) => !counts.has(endpoint)),
    placeOf,
  );
  return all
    .filter(({ endpoint }) => counts.has(endpoint))
    .map((one) => {
      const [by] = one.objects;
      const known = new Set(one.objects.map(({ kind, namespace, name }) => `${kind}/${namespace}/${name}`));
      const overruled = (others.get(placeOf(one)) ?? []).flatMap(({ objects }) =>
        objects
          .filter(({ kind, namespace, name }) => !known.has(`${kind}/${namespace}/${name}`))
          .map((object) => ({ ...object, ...(by && { overruledBy: nameOf(by) }) })),
      );
      return { ...one, objects: [...one.objects, ...overruled] };
    });
}

function nameOf({ kind, namespace, name }: EndpointObject) {
  return { kind, namespace, name };
}
