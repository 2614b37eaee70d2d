import { PROXY_CONTAINER } from "../context.ts";
import { asObject, type Json, objects } from "../json.ts";

export function containersOf(pod: Json, list: "containers" | "initContainers"): readonly Json[] {
  return objects(asObject(pod.spec)[list]);
}

export function findContainer(containers: readonly Json[], name: string): Json | undefined {
  return containers.find((container) => container.name === name);
}

/** The container named istio-proxy, wherever it is. */
export function findProxy(pod: Json): Json | undefined {
  return (
    findContainer(containersOf(pod, "containers"), PROXY_CONTAINER) ??
    findContainer(containersOf(pod, "initContainers"), PROXY_CONTAINER)
  );
}

/** A pod with some lists of its spec replaced. */
export function withSpec(pod: Json, change: Json): Json {
  return { ...pod, spec: { ...asObject(pod.spec), ...change } };
}

/** A pod whose proxy container is the result of the change. */
export function withProxy(pod: Json, change: (proxy: Json) => Json): Json {
  const list = findContainer(containersOf(pod, "containers"), PROXY_CONTAINER) ? "containers" : "initContainers";
  const containers = containersOf(pod, list).map((container) =>
    container.name === PROXY_CONTAINER ? change(container) : container,
  );
  return withSpec(pod, { [list]: containers });
}

export function withAnnotations(pod: Json, annotations: Readonly<Record<string, string>>): Json {
  return { ...pod, metadata: { ...asObject(pod.metadata), annotations } };
}

export function withLabels(pod: Json, labels: Readonly<Record<string, string>>): Json {
  return { ...pod, metadata: { ...asObject(pod.metadata), labels } };
}
