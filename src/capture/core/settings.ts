/** Rule shapes that can be asked for; newer products than the newest named one use `master`. */
const CAPTURE_GENERATIONS = ["master", "1.20", "1.7", "1.6"] as const;

export type CaptureGeneration = (typeof CAPTURE_GENERATIONS)[number];

/** Everything that decides what is captured, after defaults; lists stay the comma separated text that users wrote and banners print. */
export interface CaptureSettings {
  readonly generation: CaptureGeneration;
  readonly proxyPort: string;
  readonly inboundCapturePort: string;
  readonly inboundTunnelPort: string;
  readonly proxyUid: string;
  readonly proxyGid: string;
  readonly interceptionMode: string;
  readonly tproxyMark: string;
  readonly tproxyRouteTable: string;
  readonly inboundPortsInclude: string;
  readonly inboundPortsExclude: string;
  readonly ownerGroupsInclude: string;
  readonly ownerGroupsExclude: string;
  readonly outboundPortsInclude: string;
  readonly outboundPortsExclude: string;
  readonly outboundIpRangesInclude: string;
  readonly outboundIpRangesExclude: string;
  readonly virtualInterfaces: string;
  readonly excludeInterfaces: string;
  readonly redirectDns: boolean;
  readonly captureAllDns: boolean;
  readonly dropInvalid: boolean;
  readonly ipv6: boolean;
  readonly dualStack: boolean;
  readonly dnsServersV4: readonly string[];
  readonly dnsServersV6: readonly string[];
  /** 1.7 only: the port DNS goes to, empty for no capture. */
  readonly dnsTargetPort: string;
  readonly loopbackCidr: string;
  readonly hostIp: string;
  readonly traceLogging: boolean;
  readonly nativeNftables: boolean;
}

/** How the rules are put in place; nothing here changes which packets are captured. */
export interface CaptureOptions {
  readonly dryRun: boolean;
  readonly dryRunFile: string;
  readonly restoreFormat: boolean;
  readonly probePort: number;
  readonly probeTimeoutNs: bigint;
  readonly skipRuleApply: boolean;
  readonly runValidation: boolean;
  readonly networkNamespace: string;
  readonly cniMode: boolean;
  readonly reconcile: boolean;
  readonly cleanupOnly: boolean;
  readonly forceApply: boolean;
  readonly forceBinary: string;
}

export const DEFAULT_SETTINGS: CaptureSettings = Object.freeze({
  generation: "master",
  proxyPort: "15001",
  inboundCapturePort: "15006",
  inboundTunnelPort: "15008",
  proxyUid: "1337",
  proxyGid: "1337",
  interceptionMode: "",
  tproxyMark: "1337",
  tproxyRouteTable: "133",
  inboundPortsInclude: "",
  inboundPortsExclude: "",
  ownerGroupsInclude: "*",
  ownerGroupsExclude: "",
  outboundPortsInclude: "",
  outboundPortsExclude: "",
  outboundIpRangesInclude: "",
  outboundIpRangesExclude: "",
  virtualInterfaces: "",
  excludeInterfaces: "",
  redirectDns: false,
  captureAllDns: false,
  dropInvalid: false,
  ipv6: false,
  dualStack: false,
  dnsServersV4: [],
  dnsServersV6: [],
  dnsTargetPort: "",
  loopbackCidr: "127.0.0.1/32",
  hostIp: "",
  traceLogging: false,
  nativeNftables: false,
});

export const DEFAULT_OPTIONS: CaptureOptions = Object.freeze({
  dryRun: false,
  dryRunFile: "",
  restoreFormat: true,
  probePort: 15002,
  probeTimeoutNs: 5_000_000_000n,
  skipRuleApply: false,
  runValidation: false,
  networkNamespace: "",
  cniMode: false,
  reconcile: false,
  cleanupOnly: false,
  forceApply: false,
  forceBinary: "",
});

/** Comma separated, empty elements dropped. Spaces around an element mean nothing: iptables reads over them, and people write them. */
export function splitList(text: string): readonly string[] {
  return text
    .split(",")
    .map((element) => element.trim())
    .filter((element) => element !== "");
}

export function isTproxy(settings: CaptureSettings): boolean {
  return settings.interceptionMode === "TPROXY";
}
