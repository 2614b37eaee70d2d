import {
  type CaptureGeneration,
  type CaptureOptions,
  type CaptureSettings,
  DEFAULT_OPTIONS,
  DEFAULT_SETTINGS,
  GENERATION_SHAPES,
} from "../capture/index.ts";
import type { Environment } from "./env-reader.ts";
import type { FlagValues } from "./flag-values.ts";

/** Settings as given: ids, IP version and resolvers are still to be found out. */
export interface GivenSettings {
  readonly settings: CaptureSettings;
  readonly options: CaptureOptions;
  readonly envoyUser: string;
}

export function readCaptureSettings(flags: FlagValues, env: Environment): GivenSettings {
  const generation = captureGeneration(env.PILOT_AGENT_GENERATION);
  /** A variable that is present but empty does not blank a required value. */
  const required = (name: string, fallback: string) =>
    flags.changed(name) || flags.string(name) !== "" ? flags.string(name) : fallback;
  const redirectDns = flags.bool("redirect-dns");
  const { dnsToTargetPort } = GENERATION_SHAPES[generation];
  return {
    settings: {
      ...DEFAULT_SETTINGS,
      generation,
      proxyPort: required("envoy-port", DEFAULT_SETTINGS.proxyPort),
      inboundCapturePort: required("inbound-capture-port", DEFAULT_SETTINGS.inboundCapturePort),
      inboundTunnelPort: required("inbound-tunnel-port", DEFAULT_SETTINGS.inboundTunnelPort),
      proxyUid: flags.string("proxy-uid"),
      proxyGid: flags.string("proxy-gid"),
      interceptionMode: flags.string("istio-inbound-interception-mode"),
      tproxyMark: required("istio-inbound-tproxy-mark", DEFAULT_SETTINGS.tproxyMark),
      tproxyRouteTable: required("istio-inbound-tproxy-route-table", DEFAULT_SETTINGS.tproxyRouteTable),
      inboundPortsInclude: flags.string("istio-inbound-ports"),
      inboundPortsExclude: flags.string("istio-local-exclude-ports"),
      ownerGroupsInclude: env.ISTIO_OUTBOUND_OWNER_GROUPS || DEFAULT_SETTINGS.ownerGroupsInclude,
      ownerGroupsExclude: env.ISTIO_OUTBOUND_OWNER_GROUPS_EXCLUDE ?? "",
      outboundPortsInclude: flags.string("istio-outbound-ports"),
      outboundPortsExclude: flags.string("istio-local-outbound-ports-exclude"),
      outboundIpRangesInclude: flags.string("istio-service-cidr"),
      outboundIpRangesExclude: flags.string("istio-service-exclude-cidr"),
      virtualInterfaces: flags.string("kube-virt-interfaces"),
      excludeInterfaces: flags.string("istio-exclude-interfaces"),
      redirectDns: redirectDns && !dnsToTargetPort,
      captureAllDns: flags.bool("capture-all-dns"),
      dropInvalid: flags.bool("drop-invalid"),
      dualStack: flags.bool("dual-stack"),
      dnsTargetPort: dnsToTargetPort ? firstDnsPort(env) : "",
      loopbackCidr: env.ISTIO_OUTBOUND_IPV4_LOOPBACK_CIDR || DEFAULT_SETTINGS.loopbackCidr,
      traceLogging: flags.bool("iptables-trace-logging"),
      nativeNftables: flags.bool("native-nftables"),
    },
    options: {
      ...DEFAULT_OPTIONS,
      dryRun: flags.bool("dry-run"),
      dryRunFile: env.DRY_RUN_FILE_PATH ?? "",
      restoreFormat: flags.bool("restore-format"),
      probePort: flags.int("iptables-probe-port"),
      probeTimeoutNs: flags.duration("probe-timeout"),
      skipRuleApply: flags.bool("skip-rule-apply"),
      runValidation: flags.bool("run-validation"),
      networkNamespace: flags.string("network-namespace"),
      cniMode: flags.bool("cni-mode"),
      reconcile: flags.bool("reconcile"),
      cleanupOnly: flags.bool("cleanup-only"),
      forceApply: flags.bool("force-apply"),
      forceBinary: flags.string("force-iptables-binary"),
    },
    envoyUser: env.ENVOY_USER || "istio-proxy",
  };
}

/** Rule shapes exist for fewer generations than the product knows; in between, the nearest that has them. */
const GENERATIONS: ReadonlyMap<string, CaptureGeneration> = new Map([
  ["", "master"],
  ["master", "master"],
  ["1.20", "1.20"],
  ["1.8", "1.20"],
  ["1.7", "1.7"],
  ["1.6", "1.6"],
  ["1.2", "1.6"],
]);

export function captureGeneration(text = ""): CaptureGeneration {
  const generation = GENERATIONS.get(text);
  if (generation !== undefined) return generation;
  const allowed = [...GENERATIONS.keys()].filter((name) => name !== "");
  throw new Error(`PILOT_AGENT_GENERATION is "${text}", allowed are ${allowed.join(", ")}`);
}

/** 1.7 had two receivers for DNS; any non-empty text turns them on, the agent's own wins. */
function firstDnsPort(env: Environment): string {
  if ((env.DNS_AGENT ?? "") !== "") return "15053";
  return (env.ISTIO_META_DNS_CAPTURE ?? "") === "" ? "" : "15013";
}
