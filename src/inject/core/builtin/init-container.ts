import {
  annotationOr,
  annotationsOf,
  CORE_DUMP_CONTAINER,
  INIT_CONTAINER,
  interceptionMode,
  type TemplateContext,
  VALIDATION_CONTAINER,
} from "../context.ts";
import { containerImage } from "../image.ts";
import type { Json } from "../json.ts";
import { excludedInboundPorts, isCniEnabled } from "./metadata.ts";
import { metadataEnv } from "./proxy-environment.ts";
import { proxyResources } from "./resources.ts";

const PROXY_ID = 1337;

/** Programs capture, or with a CNI plug-in checks that it is programmed. */
export function initContainer(context: TemplateContext): Json {
  const { values, rules } = context;
  const cni = isCniEnabled(context);
  return {
    name: cni ? VALIDATION_CONTAINER : INIT_CONTAINER,
    image: containerImage(context, rules.sidecar.newFlags ? "proxy_init" : "proxy"),
    args: initArgs(context, cni),
    imagePullPolicy: values.text("global.imagePullPolicy"),
    env: metadataEnv(context),
    resources: proxyResources(context),
    securityContext: {
      ...captureSecurity(context, cni),
      ...(values.isSet("global.proxy.seccompProfile") && { seccompProfile: values.get("global.proxy.seccompProfile") }),
    },
  };
}

/** Capture is programmed by root with its capabilities, and checked without. */
export function captureSecurity(context: TemplateContext, cni: boolean): Json {
  const privileged = context.values.isSet("global.proxy.privileged");
  return { allowPrivilegeEscalation: privileged, privileged, ...(cni ? unprivileged(context) : PRIVILEGED) };
}

const PRIVILEGED = {
  capabilities: { add: ["NET_ADMIN", "NET_RAW"], drop: ["ALL"] },
  readOnlyRootFilesystem: false,
  runAsGroup: 0,
  runAsNonRoot: false,
  runAsUser: 0,
};

function unprivileged(context: TemplateContext): Json {
  const isTproxy = interceptionMode(context) === "TPROXY";
  return {
    capabilities: { drop: ["ALL"] },
    readOnlyRootFilesystem: true,
    runAsGroup: isTproxy ? PROXY_ID : context.proxyGid,
    runAsUser: isTproxy ? PROXY_ID : context.proxyUid,
    runAsNonRoot: true,
  };
}

function initArgs(context: TemplateContext, cni: boolean): readonly string[] {
  const { mesh, values, proxyUid, rules } = context;
  const annotations = annotationsOf(context.pod);
  const traffic = "traffic.sidecar.istio.io/";
  const mode = interceptionMode(context);
  const excluded = excludedInboundPorts(context);
  const ifGiven = (flag: string, name: string, path: string): readonly string[] =>
    annotations[name] !== undefined || values.text(path) !== "" ? [flag, annotationOr(context, name, path)] : [];
  const rerouted = annotations["istio.io/reroute-virtual-interfaces"] ?? annotations[`${traffic}kubevirtInterfaces`];
  const excludedInterfaces = annotations[`${traffic}excludeInterfaces`];
  return [
    "istio-iptables",
    "-p",
    String(mesh.proxyListenPort || 15001),
    "-z",
    String(mesh.proxyInboundListenPort || 15006),
    "-u",
    String(mode === "TPROXY" ? PROXY_ID : proxyUid),
    "-m",
    mode,
    "-i",
    annotationOr(context, `${traffic}includeOutboundIPRanges`, "global.proxy.includeIPRanges"),
    "-x",
    annotationOr(context, `${traffic}excludeOutboundIPRanges`, "global.proxy.excludeIPRanges"),
    "-b",
    annotationOr(context, `${traffic}includeInboundPorts`, "global.proxy.includeInboundPorts"),
    "-d",
    excluded === "" ? "15090,15021" : `15090,15021,${excluded}`,
    ...ifGiven("-q", `${traffic}includeOutboundPorts`, "global.proxy.includeOutboundPorts"),
    ...ifGiven("-o", `${traffic}excludeOutboundPorts`, "global.proxy.excludeOutboundPorts"),
    ...(rerouted === undefined ? [] : ["-k", rerouted]),
    ...(excludedInterfaces === undefined ? [] : ["-c", excludedInterfaces]),
    `--log_output_level=${annotationOr(context, "sidecar.istio.io/agentLogLevel", "global.logging.level")}`,
    ...(values.isSet("global.logAsJson") ? ["--log_as_json"] : []),
    ...(cni ? ["--run-validation", "--skip-rule-apply"] : []),
    ...(!cni && rules.sidecar.newFlags && values.isSet("global.proxy_init.forceApplyIptables")
      ? ["--force-apply"]
      : []),
    ...(rules.sidecar.newFlags && values.isSet("global.nativeNftables") ? ["--native-nftables"] : []),
  ];
}

/** Core dumps of Envoy go to a volume; releases up to 1.20 set the kernel's pattern. */
export function coreDumpContainer(context: TemplateContext): readonly Json[] {
  const { values, rules } = context;
  const isWanted = annotationOr(context, "sidecar.istio.io/enableCoreDump", "global.proxy.enableCoreDump") === "true";
  if (!rules.sidecar.coreDumpContainer || !isWanted) return [];
  return [
    {
      name: CORE_DUMP_CONTAINER,
      args: ["-c", "sysctl -w kernel.core_pattern=/var/lib/istio/data/core.proxy && ulimit -c unlimited"],
      command: ["/bin/sh"],
      image: containerImage(context, "proxy"),
      imagePullPolicy: values.text("global.imagePullPolicy"),
      resources: proxyResources(context),
      securityContext: {
        allowPrivilegeEscalation: true,
        capabilities: { add: ["SYS_ADMIN"], drop: ["ALL"] },
        privileged: true,
        readOnlyRootFilesystem: false,
        runAsGroup: 0,
        runAsNonRoot: false,
        runAsUser: 0,
      },
    },
  ];
}
