import { CORE_DUMP_CONTAINER, INIT_CONTAINER, PROXY_CONTAINER, VALIDATION_CONTAINER } from "../context.ts";
import { asObject, type Json } from "../json.ts";
import { containersOf, findContainer, withSpec } from "./containers.ts";

/**
 * The proxy is the last container, so that `kubectl exec` finds the application first, or the first one where applications wait for it.
 * Capture comes last of the init containers, so that the others have their network; with a native proxy first, so that they are in
 * the mesh. All others keep their order.
 */
export function orderContainers(pod: Json, isProxyFirst: boolean): Json {
  const containers = move(containersOf(pod, "containers"), PROXY_CONTAINER, isProxyFirst ? "first" : "last");
  let init = containersOf(pod, "initContainers");
  if (findContainer(init, PROXY_CONTAINER) !== undefined) {
    for (const name of [CORE_DUMP_CONTAINER, PROXY_CONTAINER, VALIDATION_CONTAINER, INIT_CONTAINER])
      init = move(init, name, "first");
  } else {
    init = move(init, VALIDATION_CONTAINER, "first");
    init = move(move(init, INIT_CONTAINER, "last"), CORE_DUMP_CONTAINER, "last");
  }
  const hasInit = asObject(pod.spec).initContainers !== undefined;
  return withSpec(pod, { containers, ...(hasInit && { initContainers: init }) });
}

function move(containers: readonly Json[], name: string, to: "first" | "last"): readonly Json[] {
  const moved = containers.filter((container) => container.name === name).slice(-1);
  const rest = containers.filter((container) => container.name !== name);
  return to === "first" ? [...moved, ...rest] : [...rest, ...moved];
}
