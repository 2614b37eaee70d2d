import { annotationsOf, INIT_CONTAINER, VALIDATION_CONTAINER } from "../context.ts";
import { asList, asObject, asText, goJson, type Json } from "../json.ts";
import type { Normalizer } from "../schema/normalize.ts";
import { containersOf, findContainer, findProxy, withAnnotations, withProxy, withSpec } from "./containers.ts";
import { readStatus } from "./injection-status.ts";
import { mergePod } from "./render-templates.ts";
import { OVERRIDES_ANNOTATION, readOverrides } from "./strip-pod.ts";

/**
 * What the user says of a container beats the template, field by field. The user's containers are recorded in an annotation, so that a
 * second injection applies them again.
 */
export function reapplyOverrides(
  merged: Json,
  original: Json,
  templatePod: Json,
  meshMode: string,
  normalize: Normalizer,
): Json {
  const status = readStatus(original);
  const recorded = readOverrides(original);
  let pod = merged;
  const taken: Record<"containers" | "initContainers", Json[]> = { containers: [], initContainers: [] };
  for (const list of ["containers", "initContainers"] as const) {
    for (const container of containersOf(templatePod, list)) {
      const name = asText(container.name);
      const given =
        findContainer(recorded[list], name) ??
        (status?.[list].includes(name) ? undefined : givenContainer(original, list, name));
      if (given === undefined) continue;
      const { image, ...others } = normalize("Container", given);
      const overlay = image === undefined || image === "auto" ? others : { name: others.name, image, ...others };
      taken[list].push(normalize("Container", overlay));
      pod = mergePod(pod, { spec: { [list]: [overlay] } }, normalize);
    }
  }
  if (status === undefined && (taken.containers.length > 0 || taken.initContainers.length > 0)) {
    const record = Object.fromEntries(Object.entries(taken).filter(([, containers]) => containers.length > 0));
    pod = withAnnotations(pod, { ...annotationsOf(pod), [OVERRIDES_ANNOTATION]: goJson(record) });
  }
  return adjustUser(pod, original, meshMode);
}

/** An init container of ours may be customized from either list. */
function givenContainer(pod: Json, list: "containers" | "initContainers", name: string): Json | undefined {
  const found = findContainer(containersOf(pod, "containers"), name);
  return list === "containers" ? found : (found ?? findContainer(containersOf(pod, "initContainers"), name));
}

/** Capture has to know the user whose traffic is the proxy's own. */
function adjustUser(pod: Json, original: Json, meshMode: string): Json {
  const given = asObject(findProxy(original)?.securityContext);
  const { runAsUser, runAsGroup } = given;
  if (runAsUser === undefined && runAsGroup === undefined) return pod;
  const init = [INIT_CONTAINER, VALIDATION_CONTAINER].find((name) =>
    findContainer(containersOf(pod, "initContainers"), name),
  );
  if (init === undefined) return pod;
  const isTproxy = meshMode === "TPROXY" || annotationsOf(pod)["sidecar.istio.io/interceptionMode"] === "TPROXY";
  // TPROXY works for root only.
  const adjusted =
    isTproxy && runAsUser !== undefined
      ? withProxy(pod, (proxy) => ({ ...proxy, securityContext: { ...asObject(proxy.securityContext), runAsUser: 0 } }))
      : pod;
  return withSpec(adjusted, {
    initContainers: containersOf(adjusted, "initContainers").map((container) => {
      if (container.name !== init) return container;
      const withIds = !isTproxy && init === VALIDATION_CONTAINER ? withUser(container, given) : container;
      return typeof runAsUser === "number" && runAsUser !== 0 ? withUserArgument(withIds, runAsUser) : withIds;
    }),
  });
}

function withUser(container: Json, { runAsUser, runAsGroup }: Json): Json {
  const securityContext = {
    ...asObject(container.securityContext),
    ...(runAsUser !== undefined && { runAsUser }),
    ...(runAsGroup !== undefined && { runAsGroup }),
  };
  return { ...container, securityContext };
}

function withUserArgument(container: Json, user: number): Json {
  const args = [...asList(container.args)];
  const flag = args.indexOf("-u");
  if (flag === -1 || flag === args.length - 1) return container;
  args[flag + 1] = String(user);
  return { ...container, args };
}
