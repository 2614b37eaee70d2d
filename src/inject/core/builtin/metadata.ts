import {
  annotationOr,
  annotationsOf,
  interceptionMode,
  labelsOf,
  PROXY_CONTAINER,
  statusPortText,
  type TemplateContext,
} from "../context.ts";
import { asObject, asText, type Json, objects } from "../json.ts";
import { excludeInboundPort } from "./inbound-ports.ts";
import { appendMultusNetwork } from "./multus.ts";

const MAX_LABEL = 63;

/** Labels by which telemetry groups workloads; a value that is there stays. */
export function canonicalLabels({ pod, owner }: TemplateContext, isTruncated: boolean): Json {
  const labels = labelsOf(pod);
  const name =
    labels["service.istio.io/canonical-name"] || labels["app.kubernetes.io/name"] || labels.app || owner.name;
  const revision =
    labels["service.istio.io/canonical-revision"] || labels["app.kubernetes.io/version"] || labels.version || "latest";
  return {
    "service.istio.io/canonical-name": isTruncated ? name.slice(0, MAX_LABEL).replace(/^[-_.]+|[-_.]+$/g, "") : name,
    "service.istio.io/canonical-revision": revision,
  };
}

/** The application's containers. */
export function appContainers({ pod }: TemplateContext): readonly string[] {
  return objects(asObject(pod.spec).containers)
    .map(({ name }) => asText(name))
    .filter((name) => name !== PROXY_CONTAINER);
}

export function commonAnnotations(context: TemplateContext): Json {
  const annotations = annotationsOf(context.pod);
  const [first] = appContainers(context);
  const defaults = ["kubectl.kubernetes.io/default-logs-container", "kubectl.kubernetes.io/default-container"];
  return {
    "istio.io/rev": context.revision || "default",
    ...(first !== undefined &&
      Object.fromEntries(defaults.filter((name) => annotations[name] === undefined).map((name) => [name, first]))),
  };
}

export function isCniEnabled({ values, rules }: TemplateContext): boolean {
  return values.isSet(rules.sidecar.oldCniValues ? "istio_cni.enabled" : "pilot.cni.enabled");
}

/** The settings of capture, for a CNI plug-in that programs it instead of the init container. */
export function cniAnnotations(context: TemplateContext): Json {
  if (!isCniEnabled(context)) return {};
  const { values, rules } = context;
  const annotations = annotationsOf(context.pod);
  const traffic = "traffic.sidecar.istio.io/";
  const isMultus = rules.sidecar.oldCniValues
    ? !values.isSet("istio_cni.chained")
    : values.text("pilot.cni.provider") === "multus";
  const ifAny = (name: string, value: string | undefined): Json => (value ? { [name]: value } : {});
  const ifGiven = (name: string, path: string): Json =>
    annotations[traffic + name] !== undefined || values.text(path) !== ""
      ? { [traffic + name]: annotationOr(context, traffic + name, path) }
      : {};
  const inbound = annotationOr(context, `${traffic}includeInboundPorts`, "global.proxy.includeInboundPorts");
  return {
    ...(isMultus && {
      "k8s.v1.cni.cncf.io/networks": appendMultusNetwork(
        annotations["k8s.v1.cni.cncf.io/networks"] ?? "",
        "default/istio-cni",
      ),
    }),
    "sidecar.istio.io/interceptionMode": interceptionMode(context),
    ...ifAny(
      `${traffic}includeOutboundIPRanges`,
      annotationOr(context, `${traffic}includeOutboundIPRanges`, "global.proxy.includeIPRanges"),
    ),
    ...ifAny(
      `${traffic}excludeOutboundIPRanges`,
      annotationOr(context, `${traffic}excludeOutboundIPRanges`, "global.proxy.excludeIPRanges"),
    ),
    ...(rules.sidecar.alwaysAnnotatesInboundPorts || inbound !== ""
      ? { [`${traffic}includeInboundPorts`]: inbound }
      : {}),
    [`${traffic}excludeInboundPorts`]: excludedInboundPorts(context),
    ...ifGiven("includeOutboundPorts", "global.proxy.includeOutboundPorts"),
    ...ifGiven("excludeOutboundPorts", "global.proxy.excludeOutboundPorts"),
    ...ifAny(`${traffic}kubevirtInterfaces`, annotations[`${traffic}kubevirtInterfaces`]),
    ...ifAny("istio.io/reroute-virtual-interfaces", annotations["istio.io/reroute-virtual-interfaces"]),
    ...ifAny(`${traffic}excludeInterfaces`, annotations[`${traffic}excludeInterfaces`]),
  };
}

/** The status port is never captured. */
export function excludedInboundPorts(context: TemplateContext): string {
  const given = "traffic.sidecar.istio.io/excludeInboundPorts";
  return excludeInboundPort(statusPortText(context), annotationOr(context, given, "global.proxy.excludeInboundPorts"));
}
