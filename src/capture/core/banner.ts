import { GENERATION_SHAPES } from "./generations.ts";
import type { CaptureOptions, CaptureSettings } from "./settings.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const ENVIRONMENT = [
  "ENVOY_PORT",
  "INBOUND_CAPTURE_PORT",
  "ISTIO_INBOUND_INTERCEPTION_MODE",
  "ISTIO_INBOUND_TPROXY_ROUTE_TABLE",
  "ISTIO_INBOUND_PORTS",
  "ISTIO_OUTBOUND_PORTS",
  "ISTIO_LOCAL_EXCLUDE_PORTS",
  "ISTIO_EXCLUDE_INTERFACES",
  "ISTIO_SERVICE_CIDR",
  "ISTIO_SERVICE_EXCLUDE_CIDR",
  "ISTIO_META_DNS_CAPTURE",
  "INVALID_DROP",
];

const ENVIRONMENT_1_7 = [
  "ENVOY_PORT",
  "INBOUND_CAPTURE_PORT",
  "ISTIO_INBOUND_INTERCEPTION_MODE",
  "ISTIO_INBOUND_TPROXY_MARK",
  "ISTIO_INBOUND_TPROXY_ROUTE_TABLE",
  "ISTIO_INBOUND_PORTS",
  "ISTIO_OUTBOUND_PORTS",
  "ISTIO_LOCAL_EXCLUDE_PORTS",
  "ISTIO_SERVICE_CIDR",
  "ISTIO_SERVICE_EXCLUDE_CIDR",
];

/** What is printed before the rules: log entries, or plain text on stdout as 1.7 did. */
export interface Banner {
  readonly log: readonly string[];
  readonly stdout: readonly string[];
}

export function captureBanner(settings: CaptureSettings, options: CaptureOptions, env: Environment): Banner {
  switch (GENERATION_SHAPES[settings.generation].shows) {
    case "files":
      return {
        log: [],
        stdout: [
          "Environment:",
          "------------",
          ...environment(ENVIRONMENT_1_7, env),
          "",
          "Variables:",
          "----------",
          ...proxyVariables(settings),
          ...inboundVariables(settings),
          ...rangeVariables(settings),
          ...portVariables(settings),
          `KUBEVIRT_INTERFACES=${settings.virtualInterfaces}`,
          `ENABLE_INBOUND_IPV6=${settings.ipv6}`,
          "",
        ],
      };
    case "commands":
      return {
        log: [
          entry("Istio iptables environment:", environment(ENVIRONMENT, env)),
          entry("Istio iptables variables:", ["IPTABLES_VERSION=", ...commonVariables(settings, options, "KUBEVIRT")]),
        ],
        stdout: [],
      };
    case "restores":
      return {
        log: [
          entry(
            `Istio ${settings.nativeNftables ? "nftables" : "iptables"} environment:`,
            environment(ENVIRONMENT, env),
          ),
          entry("Istio config:", [
            ...commonVariables(settings, options, "KUBE_VIRT"),
            `RECONCILE=${options.reconcile}`,
            `CLEANUP_ONLY=${options.cleanupOnly}`,
            `FORCE_APPLY=${options.forceApply}`,
            `NATIVE_NFTABLES=${settings.nativeNftables}`,
            `FORCE_IPTABLES_BINARY=${options.forceBinary}`,
          ]),
        ],
        stdout: [],
      };
  }
}

function entry(title: string, lines: readonly string[]): string {
  return `${title}\n${lines.map((line) => `${line}\n`).join("")}`;
}

function environment(names: readonly string[], env: Environment): readonly string[] {
  return names.map((name) => `${name}=${env[name] ?? ""}`);
}

function commonVariables(settings: CaptureSettings, options: CaptureOptions, virtual: "KUBEVIRT" | "KUBE_VIRT") {
  const servers = `[${settings.dnsServersV4.join(" ")}],[${settings.dnsServersV6.join(" ")}]`;
  return [
    ...proxyVariables(settings),
    ...inboundVariables(settings),
    `OUTBOUND_OWNER_GROUPS_INCLUDE=${settings.ownerGroupsInclude}`,
    `OUTBOUND_OWNER_GROUPS_EXCLUDE=${settings.ownerGroupsExclude}`,
    ...rangeVariables(settings),
    ...portVariables(settings),
    `${virtual}_INTERFACES=${settings.virtualInterfaces}`,
    `ENABLE_INBOUND_IPV6=${settings.ipv6}`,
    `DUAL_STACK=${settings.dualStack}`,
    `DNS_CAPTURE=${settings.redirectDns}`,
    `DROP_INVALID=${settings.dropInvalid}`,
    `CAPTURE_ALL_DNS=${settings.captureAllDns}`,
    `DNS_SERVERS=${servers}`,
    `NETWORK_NAMESPACE=${options.networkNamespace}`,
    `CNI_MODE=${options.cniMode}`,
    `EXCLUDE_INTERFACES=${settings.excludeInterfaces}`,
  ];
}

function proxyVariables(settings: CaptureSettings): readonly string[] {
  return [
    `PROXY_PORT=${settings.proxyPort}`,
    `PROXY_INBOUND_CAPTURE_PORT=${settings.inboundCapturePort}`,
    `PROXY_TUNNEL_PORT=${settings.inboundTunnelPort}`,
    `PROXY_UID=${settings.proxyUid}`,
    `PROXY_GID=${settings.proxyGid}`,
  ];
}

function inboundVariables(settings: CaptureSettings): readonly string[] {
  return [
    `INBOUND_INTERCEPTION_MODE=${settings.interceptionMode}`,
    `INBOUND_TPROXY_MARK=${settings.tproxyMark}`,
    `INBOUND_TPROXY_ROUTE_TABLE=${settings.tproxyRouteTable}`,
    `INBOUND_PORTS_INCLUDE=${settings.inboundPortsInclude}`,
    `INBOUND_PORTS_EXCLUDE=${settings.inboundPortsExclude}`,
  ];
}

function rangeVariables(settings: CaptureSettings): readonly string[] {
  return [
    `OUTBOUND_IP_RANGES_INCLUDE=${settings.outboundIpRangesInclude}`,
    `OUTBOUND_IP_RANGES_EXCLUDE=${settings.outboundIpRangesExclude}`,
  ];
}

function portVariables(settings: CaptureSettings): readonly string[] {
  return [
    `OUTBOUND_PORTS_INCLUDE=${settings.outboundPortsInclude}`,
    `OUTBOUND_PORTS_EXCLUDE=${settings.outboundPortsExclude}`,
  ];
}
