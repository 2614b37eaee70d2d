import * as compat from "./compat/old-steps.ts";
import { dnsByChain } from "./dns-steps.ts";
import * as inbound from "./inbound-steps.ts";
import type { IptablesTextOptions } from "./iptables-text.ts";
import { jump } from "./matches.ts";
import * as outbound from "./outbound-steps.ts";
import { onlyFamily, type Step } from "./rule-list.ts";
import type { CaptureGeneration } from "./settings.ts";
import { tproxyMarks } from "./tproxy-steps.ts";

/** A generation is the order of its steps and their parameters, and how its commands behave. */
export interface GenerationShape extends IptablesTextOptions {
  readonly steps: readonly Step[];
  readonly masksPrefixes: boolean;
  /** IPv6 rules are restored even when there are none. */
  readonly alwaysRestoresBoth: boolean;
  /** What its commands show: one restore per program, each command, or the files of rules that it wrote and printed. */
  readonly shows: "restores" | "commands" | "files";
  /** Root is exempt as well when no user is named. */
  readonly exemptsRoot: boolean;
  /** A range that is not a CIDR is skipped with a warning. */
  readonly skipsInvalidRanges: boolean;
  /** All UDP to port 53 goes to `dnsTargetPort`; otherwise the agent's port, as `redirectDns` and `captureAllDns` say. */
  readonly dnsToTargetPort: boolean;
  /** The clean command also deletes rules that were written into built-in chains. */
  readonly cleansBuiltInChains: boolean;
  /** The generation whose clean command it has, where it has none of its own. */
  readonly cleansAs?: CaptureGeneration;
}

const redirectAll = { endsWithReturn: false, wildcardVirtualTarget: jump("ISTIO_REDIRECT") };
const today = { exemptsSsh: false, tproxyPort: "inboundCapturePort", alwaysRedirects: false } as const;

const MASTER: GenerationShape = {
  createsJumpTargets: true,
  masksPrefixes: false,
  alwaysRestoresBoth: false,
  shows: "restores",
  exemptsRoot: false,
  skipsInvalidRanges: false,
  dnsToTargetPort: false,
  cleansBuiltInChains: false,
  cleansAs: "1.20",
  steps: [
    inbound.excludedInterfaces,
    inbound.virtualInterfaces,
    inbound.dropInvalidByChain,
    inbound.tunnelPortExempt,
    inbound.redirectTargets,
    inbound.inboundCapture(today),
    outbound.outputJump(),
    outbound.excludedOutboundPorts(["tcp", "udp"]),
    outbound.passthroughSource,
    outbound.ownerExemptions({ selfCall: "ports", dnsWhen: "captured", heedsLoopbackRange: true }),
    outbound.ownerGroups,
    dnsByChain,
    outbound.loopbackReturn,
    outbound.excludedRanges,
    outbound.includedPorts,
    outbound.includedRanges(redirectAll),
    tproxyMarks,
  ],
};

const V1_20: GenerationShape = {
  createsJumpTargets: false,
  masksPrefixes: false,
  alwaysRestoresBoth: true,
  shows: "commands",
  exemptsRoot: false,
  skipsInvalidRanges: true,
  dnsToTargetPort: false,
  cleansBuiltInChains: true,
  steps: [
    inbound.excludedInterfaces,
    inbound.virtualInterfaces,
    inbound.dropInvalidDirectly,
    inbound.tunnelPortExempt,
    inbound.redirectTargets,
    inbound.inboundCapture(today),
    outbound.outputJump("tcp"),
    outbound.excludedOutboundPorts(["tcp"]),
    outbound.passthroughSource,
    outbound.ownerExemptions({ selfCall: "ports", dnsWhen: "asked", heedsLoopbackRange: true }),
    outbound.ownerGroups,
    compat.dnsTcpInOutput,
    outbound.loopbackReturn,
    outbound.excludedRanges,
    outbound.includedPorts,
    outbound.includedRanges({ ...redirectAll, endsWithReturn: true }),
    compat.dnsUdpInOutput,
    tproxyMarks,
  ],
};

const V1_7: GenerationShape = {
  createsJumpTargets: false,
  masksPrefixes: true,
  alwaysRestoresBoth: true,
  shows: "files",
  exemptsRoot: true,
  skipsInvalidRanges: true,
  dnsToTargetPort: true,
  cleansBuiltInChains: false,
  steps: firstSteps([inbound.tunnelPortExempt]),
};

/** As 1.7, but nothing speaks of the tunnel port; its chain stays first. */
const V1_6: GenerationShape = {
  ...V1_7,
  steps: firstSteps([]),
  leadingChains: [{ table: "nat", chain: "ISTIO_INBOUND" }],
};

/** The first generations wrote IPv4 and IPv6 separately, and less of it for IPv6. */
function firstSteps(start: readonly Step[]): readonly Step[] {
  const owners = { selfCall: "any", dnsWhen: "asked" } as const;
  const inboundV4 = { exemptsSsh: true, tproxyPort: "proxyPort", alwaysRedirects: false } as const;
  return [
    onlyFamily("v4", [
      ...start,
      inbound.redirectTargets,
      inbound.inboundCapture(inboundV4),
      outbound.outputJump("tcp"),
      outbound.excludedOutboundPorts(["tcp"]),
      outbound.passthroughSource,
      outbound.ownerExemptions({ ...owners, heedsLoopbackRange: true }),
      outbound.loopbackReturn,
      outbound.excludedRanges,
      inbound.virtualInterfaces,
      outbound.includedPorts,
      outbound.includedRanges({ ...redirectAll, endsWithReturn: true }),
      compat.dnsByDnat,
      compat.tproxyOutputMark,
    ]),
    onlyFamily("v6", [
      ...start,
      inbound.redirectTargets,
      inbound.inboundCapture({ ...inboundV4, alwaysRedirects: true }),
      outbound.outputJump("tcp"),
      outbound.excludedOutboundPorts(["tcp"]),
      outbound.passthroughSource,
      outbound.ownerExemptions({ ...owners, heedsLoopbackRange: false }),
      outbound.loopbackReturn,
      outbound.excludedRanges,
      outbound.includedRanges({ endsWithReturn: true, wildcardVirtualTarget: { kind: "return" } }),
    ]),
  ];
}

export const GENERATION_SHAPES: Readonly<Record<CaptureGeneration, GenerationShape>> = {
  master: MASTER,
  "1.20": V1_20,
  "1.7": V1_7,
  "1.6": V1_6,
};
