import { PROXY_CONTAINER } from "../context.ts";
import { asObject, type Json } from "../json.ts";
import { containersOf, withProxy } from "../pipeline/containers.ts";
import { PROXY_ID } from "../pipeline/inject-pod.ts";

const UID_RANGE = "openshift.io/sa.scc.uid-range";
const GROUPS = "openshift.io/sa.scc.supplemental-groups";

/** The last user and group of the ranges that OpenShift gave the namespace; 1337 where it says nothing usable. */
export function openshiftIds(annotations: Readonly<Record<string, string>>): {
  readonly uid: number;
  readonly gid: number;
} {
  const groups = annotations[GROUPS] ?? annotations[UID_RANGE] ?? "";
  return { uid: lastOf(annotations[UID_RANGE] ?? "") ?? PROXY_ID, gid: lastOf(groups.split(",")[0] ?? "") ?? PROXY_ID };
}

/** `start/size` or `start-end`. */
function lastOf(range: string): number | undefined {
  const [, start, separator, end] = /^\s*(\d+)([/-])(\d+)/.exec(range) ?? [];
  if (start === undefined || end === undefined) return undefined;
  return separator === "/" ? Number(start) + Number(end) - 1 : Number(end);
}

/**
 * OpenShift gives every container the same user. A proxy with the application's user could not be distinguished from it by capture, so such ids
 * are taken from the user's istio-proxy container; others are a decision of the user and stay.
 */
export function withoutAssignedIds(pod: Json): Json {
  const all = [...containersOf(pod, "containers"), ...containersOf(pod, "initContainers")];
  const proxy = all.find(({ name }) => name === PROXY_CONTAINER);
  if (proxy?.securityContext === undefined) return pod;
  const apps = all.filter(({ name }) => ![PROXY_CONTAINER, "istio-init", "istio-validation"].includes(String(name)));
  const userOf = (container: Json | undefined) => asObject(container?.securityContext).runAsUser;
  const appUser = apps.map(userOf).findLast((user) => user !== undefined) ?? 0;
  if ((userOf(proxy) ?? 0) !== appUser) return pod;
  return withProxy(pod, (container) => {
    const { runAsUser: _user, runAsGroup: _group, ...others } = asObject(container.securityContext);
    return { ...container, securityContext: others };
  });
}
