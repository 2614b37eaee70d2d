import { fields, labelsOf, listOf, textOf } from "../../mesh-model/kubernetes-object.ts";
import { matchesLabelSelector, selects } from "../../mesh-model/selector.ts";
import type { AnalyzedMesh, AnalyzedObject } from "../analyzed-mesh.ts";
import type { ReportFinding } from "../finding.ts";
import {
  containersOf,
  hasProxy,
  isSystemNamespace,
  namespaceOf,
  PROXY_CONTAINER,
  podLabelsOf,
  podSpecOf,
} from "../selectors.ts";

const INJECTION_LABEL = "istio-injection";
const REVISION_LABEL = "istio.io/rev";
const MODE_LABEL = "istio.io/dataplane-mode";
const POD_LABEL = "sidecar.istio.io/inject";
const CONFIG_MAP = "istio-sidecar-injector";

/** The workload has a proxy, or gets one by its labels or its namespace's. */
export function isInMesh(mesh: AnalyzedMesh, object: AnalyzedObject): boolean {
  if (hasProxy(object)) return true;
  const template = fields(fields(fields(object.body.spec).template).metadata);
  const annotations = object.kind === "Pod" ? object.annotations : labelsOf(template.annotations);
  const own = podLabelsOf(object)[POD_LABEL] ?? annotations[POD_LABEL];
  if (own !== undefined) return own.toLowerCase() === "true";
  return namespaceOf(mesh, object.namespace)?.labels[INJECTION_LABEL] === "enabled";
}

/** Namespaces that no proxy is injected in, contradicting labels, and pods that were started before. */
export function injectedNamespaces(mesh: AnalyzedMesh, report: ReportFinding): void {
  const injected = new Set<string>();
  for (const namespace of mesh.of("Namespace")) {
    const { name, labels } = namespace;
    if (isSystemNamespace(name, mesh.settings.rootNamespace)) continue;
    const present = [INJECTION_LABEL, REVISION_LABEL, MODE_LABEL].filter(
      (label) => !["", "none"].includes(labels[label] ?? ""),
    );
    if (present.length > 1 && labels[INJECTION_LABEL] !== "disabled") {
      const found = present.map((label) => `${label}=${labels[label]}`).join(", ");
      const message = `the namespace has several labels that decide about its proxies (${found}): keep one`;
      report("NamespaceMultipleInjectionLabels", namespace, message, ["metadata", "labels"]);
    }
    if (labels[MODE_LABEL] === "ambient") continue;
    if (labels[INJECTION_LABEL] === undefined && labels[REVISION_LABEL] === undefined) {
      if (isInjectedByDefault(mesh)) {
        report(
          "NamespaceInjectionEnabledByDefault",
          namespace,
          "proxies are injected: the installation injects namespaces by default",
        );
      } else {
        const message = `no proxy is injected here: kubectl label namespace ${name} istio-injection=enabled, or =disabled to end this message`;
        report("NamespaceNotInjected", namespace, message, ["metadata", "name"]);
      }
    }
    if (labels[INJECTION_LABEL] === "enabled") injected.add(name);
  }
  for (const pod of mesh.of("Pod")) {
    const wish = pod.labels[POD_LABEL] ?? pod.annotations[POD_LABEL] ?? "";
    if (!injected.has(pod.namespace) || wish.toLowerCase() === "false") continue;
    if (podSpecOf(pod).hostNetwork === true || hasProxy(pod)) continue;
    const message = `pod ${pod.name} has no proxy although its namespace is injected: start it again (kubectl rollout restart)`;
    report("PodMissingProxy", pod, message, ["metadata", "name"]);
  }
}

function isInjectedByDefault(mesh: AnalyzedMesh): boolean {
  const values = injectorValues(mesh, CONFIG_MAP);
  return fields(values.sidecarInjectorWebhook).enableNamespacesByDefault === true;
}

/** The installation's values, which its ConfigMap holds as JSON. */
function injectorValues(mesh: AnalyzedMesh, name: string): Readonly<Record<string, unknown>> {
  const map = mesh.of("ConfigMap").find((object) => object.name === name);
  try {
    return fields(JSON.parse(textOf(fields(map?.body.data).values) || "{}"));
  } catch {
    return {};
  }
}

/** Proxies of another version than the installation injects. */
export function proxyImages(mesh: AnalyzedMesh, report: ReportFinding): void {
  for (const namespace of mesh.of("Namespace")) {
    const revision = namespace.labels[REVISION_LABEL] ?? "";
    if (namespace.labels[INJECTION_LABEL] !== "enabled" && revision === "") continue;
    const name = revision === "" || revision === "default" ? CONFIG_MAP : `${CONFIG_MAP}-${revision}`;
    if (!mesh.of("ConfigMap").some((map) => map.name === name)) continue;
    const { hub, tag, proxy } = fields(injectorValues(mesh, name).global);
    const image = textOf(fields(proxy).image);
    const expected = image.includes("/") ? image : `${textOf(hub)}/${image}:${String(tag)}`;
    const pods = mesh
      .inNamespace("Pod", namespace.name)
      .filter((pod) => !isMatch(pod, expected, imageType(mesh, pod)))
      .map((pod) => pod.name)
      .sort();
    if (pods.length === 0) continue;
    const message = `pods with another proxy image than ${expected}, which is injected now: ${pods.join(", ")}; start them again after an upgrade`;
    report("PodsIstioProxyImageMismatchInNamespace", namespace, message, ["metadata", "name"]);
  }
}

function isMatch(pod: AnalyzedObject, expected: string, type: string): boolean {
  const wish = pod.labels[POD_LABEL] ?? pod.annotations[POD_LABEL] ?? "";
  if (wish.toLowerCase() === "false") return true;
  const proxy = containersOf(podSpecOf(pod)).find(({ name }) => name === PROXY_CONTAINER);
  if (proxy === undefined) return true;
  const image = textOf(proxy.image);
  return image === expected || (type !== "" && image === `${expected}-${type}`);
}

/** The image type that pod, namespace and mesh settings ask for; the pod's own counts first. */
function imageType(mesh: AnalyzedMesh, pod: AnalyzedObject): string {
  const own = /imageType:\s*"?([\w-]+)/.exec(pod.annotations["proxy.istio.io/config"] ?? "")?.[1];
  if (own !== undefined) return own;
  const rules = mesh
    .rules("ProxyConfig")
    .filter(
      ({ rule: { namespace, spec } }) =>
        (namespace === pod.namespace || namespace === mesh.settings.rootNamespace) &&
        selects(spec.selector?.matchLabels ?? {}, pod.labels),
    );
  const ranked = rules.toSorted((a, b) => rank(b.rule, pod) - rank(a.rule, pod));
  const chosen = ranked.map(({ rule }) => rule.spec.image?.imageType ?? "").find((type) => type !== "");
  return chosen ?? textOf(fields(fields(mesh.settings.source.defaultConfig).image).imageType);
}

function rank(
  { namespace, spec }: { readonly namespace: string; readonly spec: { readonly selector?: unknown } },
  pod: AnalyzedObject,
): number {
  return (namespace === pod.namespace ? 1 : 0) + (spec.selector === undefined ? 0 : 2);
}

/** `image: auto` becomes an image only where an injector looks at the pod. */
export function automaticImages(mesh: AnalyzedMesh, report: ReportFinding): void {
  for (const object of [...mesh.of("Pod"), ...mesh.of("Deployment")]) {
    const isAuto = listOf(podSpecOf(object).containers).some(({ image }) => image === "auto");
    if (!isAuto || isTaken(mesh, object)) continue;
    const message = `${object.kind} ${object.name} has \`image: auto\`, but no injection webhook selects it: the image cannot be pulled`;
    const name = object.kind === "Pod" ? "ImageAutoWithoutInjectionError" : "ImageAutoWithoutInjectionWarning";
    report(name, object, message, ["metadata", "name"]);
  }
}

function isTaken(mesh: AnalyzedMesh, object: AnalyzedObject): boolean {
  const namespace = namespaceOf(mesh, object.namespace)?.labels ?? {};
  const labels = podLabelsOf(object);
  return mesh.of("MutatingWebhookConfiguration").some(({ labels: own, body }) => {
    const isInjector = own.app === "sidecar-injector" || own["istio.io/rev"] !== undefined;
    return (
      isInjector &&
      listOf(body.webhooks).some(
        ({ namespaceSelector, objectSelector }) =>
          matchesLabelSelector(namespaceSelector, namespace) && matchesLabelSelector(objectSelector, labels),
      )
    );
  });
}
