import { annotationOr, interceptionMode, type TemplateContext } from "../context.ts";
import type { Json } from "../json.ts";

/** The proxy runs as its own user, except where the kernel wants root: TPROXY, low ports, traced rules. */
export function sidecarSecurityContext(context: TemplateContext): Json {
  const { values } = context;
  return {
    ...identity(context),
    ...(values.isSet("global.proxy.seccompProfile") && { seccompProfile: values.get("global.proxy.seccompProfile") }),
  };
}

function identity(context: TemplateContext): Json {
  const { values, proxyConfig, proxyUid, proxyGid, rules } = context;
  if (proxyConfig.proxyMetadata?.IPTABLES_TRACE_LOGGING === "true") {
    return {
      allowPrivilegeEscalation: true,
      capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] },
      privileged: true,
      readOnlyRootFilesystem: true,
      runAsGroup: proxyGid,
      runAsNonRoot: false,
      runAsUser: 0,
    };
  }
  const isTproxy = interceptionMode(context) === "TPROXY";
  const bindsLowPorts =
    annotationOr(context, "sidecar.istio.io/capNetBindService", "global.proxy.capNetBindService") === "true";
  const isRoot = isTproxy || bindsLowPorts;
  const add = [...(isTproxy ? ["NET_ADMIN"] : []), ...(bindsLowPorts ? ["NET_BIND_SERVICE"] : [])];
  const dumps =
    rules.sidecar.coreDumpContainer &&
    annotationOr(context, "sidecar.istio.io/enableCoreDump", "global.proxy.enableCoreDump") === "true";
  return {
    allowPrivilegeEscalation: values.isSet("global.proxy.privileged"),
    capabilities: { ...(isRoot && { add }), drop: ["ALL"] },
    privileged: values.isSet("global.proxy.privileged"),
    readOnlyRootFilesystem: !dumps,
    runAsNonRoot: !isRoot,
    runAsUser: isRoot ? 0 : proxyUid,
    runAsGroup: isRoot && !rules.sidecar.keepsGroupAsRoot ? 1337 : proxyGid,
  };
}
