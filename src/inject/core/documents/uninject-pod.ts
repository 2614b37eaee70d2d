import { isJsonObject } from "../../../base/json-object.ts";
import { annotationsOf, labelsOf, PROXY_CONTAINER } from "../context.ts";
import { asObject, asText, type Json, objects } from "../json.ts";
import { containersOf, findProxy, withSpec } from "../pipeline/containers.ts";
import { type InjectionStatus, readStatus, STATUS_ANNOTATION } from "../pipeline/injection-status.ts";
import { isMergedMetricsPort, withoutMetricsAnnotations } from "../pipeline/metrics-annotations.ts";
import { OVERRIDES_ANNOTATION, readOverrides } from "../pipeline/strip-pod.ts";

/** What makes a pod of an injected one again, as far as the pod itself says what it was. A pod that was not injected stays. */
export function uninjectPod(pod: Json): Json {
  const status = readStatus(pod);
  if (status === undefined) return pod;
  const env = objects(findProxy(pod)?.env);
  const variable = (name: string) => parsedObject(asText(env.find((entry) => entry.name === name)?.value));
  const probers = variable("ISTIO_KUBE_APP_PROBERS");
  const spec = asObject(pod.spec);
  const without = (list: string, names: readonly string[]) => {
    const rest = objects(spec[list]).filter(({ name }) => !names.includes(asText(name)));
    return rest.length === 0 ? undefined : rest;
  };
  const containers = ownContainers(pod, status, "containers").map((container) => withProbes(container, probers));
  const init = ownContainers(pod, status, "initContainers").map((container) => withProbes(container, probers));
  const restored = withSpec(pod, {
    containers,
    initContainers: init.length === 0 ? undefined : init,
    volumes: without("volumes", status.volumes),
    imagePullSecrets: without("imagePullSecrets", status.imagePullSecrets),
  });
  const [first] = containers.map(({ name }) => asText(name)).filter((name) => name !== PROXY_CONTAINER);
  return { ...restored, metadata: uninjectMetadata(pod, first, variable("ISTIO_PROMETHEUS_ANNOTATIONS"), env) };
}

/** The user's own, with those back that a template had changed. */
function ownContainers(pod: Json, status: InjectionStatus, list: "containers" | "initContainers"): readonly Json[] {
  const overrides = readOverrides(pod);
  // A customized proxy stands among the containers, wherever the template put it.
  const recorded =
    list === "containers"
      ? [...overrides.containers, ...overrides.initContainers.filter(({ name }) => name === PROXY_CONTAINER)]
      : overrides.initContainers.filter(({ name }) => name !== PROXY_CONTAINER);
  const own = recorded.map((container) =>
    container.image === undefined ? { ...container, image: "auto" } : container,
  );
  const kept = containersOf(pod, list).flatMap((container) => {
    const original = own.find(({ name }) => name === container.name);
    if (original !== undefined) return [original];
    return status[list].includes(asText(container.name)) ? [] : [container];
  });
  return [...kept, ...own.filter(({ name }) => !kept.some((container) => container.name === name))];
}

const PROBES = { readinessProbe: "readyz", livenessProbe: "livez", startupProbe: "startupz" } as const;
const HOOKS = { preStop: "prestopz", postStart: "poststartz" } as const;

function withProbes(container: Json, probers: Json): Json {
  const name = asText(container.name);
  const restore = (handler: unknown, path: string): unknown => {
    const prober = probers[path];
    if (!isJsonObject(handler) || !isJsonObject(prober)) return handler;
    const { httpGet: _agent, ...rest } = handler;
    const { timeoutSeconds: _timeout, ...action } = prober;
    return { ...rest, ...withPortName(action, container) };
  };
  const changes: Json = {};
  for (const [member, suffix] of Object.entries(PROBES))
    if (container[member] !== undefined) changes[member] = restore(container[member], `/app-health/${name}/${suffix}`);
  if (isJsonObject(container.lifecycle)) {
    const hooks = Object.entries(HOOKS).map(([hook, suffix]) => [
      hook,
      restore(asObject(container.lifecycle)[hook], `/app-lifecycle/${name}/${suffix}`),
    ]);
    changes.lifecycle = Object.fromEntries(hooks);
  }
  return { ...container, ...changes };
}

/** The record has numbers only; a port with a name is usually asked by it. */
function withPortName(action: Json, container: Json): Json {
  const [kind = "", details] = Object.entries(action)[0] ?? [];
  if (kind === "grpc" || !isJsonObject(details)) return action;
  const named = objects(container.ports).find(
    ({ containerPort, name }) => containerPort === details.port && name !== undefined,
  );
  return named === undefined ? action : { [kind]: { ...details, port: named.name } };
}

function uninjectMetadata(pod: Json, firstApp: string | undefined, scrape: Json, env: readonly Json[]): Json {
  const {
    [STATUS_ANNOTATION]: _status,
    [OVERRIDES_ANNOTATION]: _overrides,
    "istio.io/rev": _rev,
    ...others
  } = annotationsOf(pod);
  const statusPort = Number(others["prometheus.io/port"] ?? 0);
  const isMerged = others["prometheus.io/path"] === "/stats/prometheus" && isMergedMetricsPort(others, statusPort);
  const annotations: Record<string, string> = isMerged
    ? { ...withoutMetricsAnnotations(others), ...scrapeAnnotations(scrape) }
    : { ...others };
  for (const name of ["kubectl.kubernetes.io/default-container", "kubectl.kubernetes.io/default-logs-container"])
    if (annotations[name] === firstApp) delete annotations[name];
  const labels: Record<string, string> = { ...labelsOf(pod) };
  const owner = asText(env.find(({ name }) => name === "ISTIO_META_WORKLOAD_NAME")?.value);
  const derived: Readonly<Record<string, string>> = {
    "security.istio.io/tlsMode": "istio",
    "service.istio.io/canonical-name": labels["app.kubernetes.io/name"] || labels.app || owner,
    "service.istio.io/canonical-revision": labels["app.kubernetes.io/version"] || labels.version || "latest",
  };
  for (const [name, value] of Object.entries(derived)) if (labels[name] === value) delete labels[name];
  return { ...asObject(pod.metadata), labels, annotations };
}

function scrapeAnnotations({ scrape, path, port, targets }: Json): Record<string, string> {
  const list = objects(targets).map((target) => `${asText(target.port)}:${asText(target.path)}`);
  const found: Record<string, string> = { "prometheus.io/scrape": asText(scrape) };
  if (list.length > 0) found["prometheus.istio.io/scrape-targets"] = list.join(",");
  else Object.assign(found, { "prometheus.io/path": asText(path), "prometheus.io/port": asText(port) });
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== ""));
}

function parsedObject(text: string): Json {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return {};
  }
}
