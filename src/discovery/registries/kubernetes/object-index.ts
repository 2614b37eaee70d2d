import { isDeepStrictEqual } from "node:util";
import type { ReducedKinds } from "./reduce-object.ts";
import type { ReducedPod } from "./reduce-pod.ts";
import type { ReducedSlice } from "./reduce-slice.ts";

type ObjectKind = keyof ReducedKinds;

/** What a change of one object may change elsewhere: keys of Services, and pods that are other workloads than before. */
export interface Touched {
  readonly services: ReadonlySet<string>;
  readonly slices: ReadonlySet<string>;
  readonly pods: ReadonlySet<string>;
  /** Something that many objects follow from. */
  readonly namespaces: ReadonlySet<string>;
  /** Some node is another than before. */
  readonly hasOtherNodes: boolean;
}

/** All objects of a cluster that the mesh reads, in reduced form, and which of them belong together. Knows nothing of their meaning. */
export interface ObjectIndex {
  get<Of extends ObjectKind>(kind: Of, key: string): ReducedKinds[Of] | undefined;
  /** Undefined takes the object away. An object that is equal to the one before changes nothing. */
  set<Of extends ObjectKind>(kind: Of, key: string, object: ReducedKinds[Of] | undefined): void;
  keys(kind: ObjectKind): Iterable<string>;
  /** Keys of a namespace's Services. */
  servicesIn(namespace: string): Iterable<string>;
  podsIn(namespace: string): Iterable<string>;
  podsAt(address: string): Iterable<string>;
  /** In the order of their names. */
  slicesOf(serviceKey: string): readonly string[];
  /** What changed since the last call. */
  takeTouched(): Touched;
}

export function createObjectIndex(): ObjectIndex {
  const objects: { readonly [Of in ObjectKind]: Map<string, ReducedKinds[Of]> } = {
    Service: new Map(),
    EndpointSlice: new Map(),
    Pod: new Map(),
    Node: new Map(),
    Namespace: new Map(),
  };
  const servicesByNamespace = createMultiMap();
  const podsByNamespace = createMultiMap();
  const podsByAddress = createMultiMap();
  const podsByNode = createMultiMap();
  const slicesByService = createMultiMap();
  /** By pod, and by address where a slice names no pod. */
  const slicesByMember = createMultiMap();
  let touched = noneTouched();

  const touchSlice = (key: string, slice: ReducedSlice) => {
    touched.slices.add(key);
    touched.services.add(serviceOf(slice));
  };
  const touchPod = (key: string, { addresses }: ReducedPod) => {
    touched.pods.add(key);
    for (const member of [key, ...addresses]) {
      for (const sliceKey of slicesByMember.of(member)) {
        const slice = objects.EndpointSlice.get(sliceKey);
        if (slice !== undefined) touchSlice(sliceKey, slice);
      }
    }
  };
  const link: {
    readonly [Of in ObjectKind]: (key: string, object: ReducedKinds[Of], change: "add" | "delete") => void;
  } = {
    Service: (key, { namespace }, change) => {
      servicesByNamespace[change](namespace, key);
      touched.services.add(key);
      for (const slice of slicesByService.of(key)) touched.slices.add(slice);
    },
    EndpointSlice: (key, slice, change) => {
      slicesByService[change](serviceOf(slice), key);
      for (const member of membersOf(slice)) slicesByMember[change](member, key);
      touchSlice(key, slice);
    },
    Pod: (key, pod, change) => {
      podsByNamespace[change](pod.namespace, key);
      for (const address of pod.addresses) podsByAddress[change](address, key);
      if (pod.nodeName !== "") podsByNode[change](pod.nodeName, key);
      touchPod(key, pod);
    },
    Node: (key) => {
      touched.hasOtherNodes = true;
      for (const podKey of podsByNode.of(key)) {
        const pod = objects.Pod.get(podKey);
        if (pod !== undefined) touchPod(podKey, pod);
      }
    },
    Namespace: (key) => touched.namespaces.add(key),
  };
  return {
    get: (kind, key) => objects[kind].get(key),
    keys: (kind) => objects[kind].keys(),
    set: (kind, key, object) => {
      const before = objects[kind].get(key);
      if (before === object || (before !== undefined && object !== undefined && isDeepStrictEqual(before, object)))
        return;
      if (before !== undefined) link[kind](key, before, "delete");
      if (object === undefined) objects[kind].delete(key);
      else {
        objects[kind].set(key, object);
        link[kind](key, object, "add");
      }
    },
    servicesIn: servicesByNamespace.of,
    podsIn: podsByNamespace.of,
    podsAt: podsByAddress.of,
    slicesOf: (serviceKey) => [...slicesByService.of(serviceKey)].sort(),
    takeTouched: () => {
      const taken = touched;
      touched = noneTouched();
      return taken;
    },
  };
}

function noneTouched() {
  const none = () => new Set<string>();
  return { services: none(), slices: none(), pods: none(), namespaces: none(), hasOtherNodes: false };
}

function serviceOf({ namespace, service }: ReducedSlice): string {
  return `${namespace}/${service}`;
}

function membersOf({ endpoints }: ReducedSlice): ReadonlySet<string> {
  return new Set(endpoints.flatMap(({ pod, addresses }) => pod ?? addresses));
}

interface MultiMap {
  add(key: string, value: string): void;
  delete(key: string, value: string): void;
  of(key: string): ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

function createMultiMap(): MultiMap {
  const sets = new Map<string, Set<string>>();
  return {
    add: (key, value) => {
      const known = sets.get(key);
      if (known === undefined) sets.set(key, new Set([value]));
      else known.add(value);
    },
    delete: (key, value) => {
      const known = sets.get(key);
      known?.delete(value);
      if (known?.size === 0) sets.delete(key);
    },
    of: (key) => sets.get(key) ?? NONE,
  };
}
