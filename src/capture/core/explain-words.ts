import { GENERATION_SHAPES } from "./generations.ts";
import { type CaptureSettings, isTproxy, splitList } from "./settings.ts";

/** The settings as sentences; the table below them shows the same by example. */
export function explainInWords(settings: CaptureSettings): readonly string[] {
  if (settings.interceptionMode === "NONE")
    return ["Interception mode NONE: nothing is captured, no rules are written."];
  return [
    `Backend: ${settings.nativeNftables ? "nftables" : "iptables"}, ${settings.ipv6 ? "IPv4 and IPv6" : "IPv4 only"}, ` +
      `rules of generation ${settings.generation}.`,
    inbound(settings),
    outbound(settings),
    exemptions(settings),
    dns(settings),
    ...interfaces(settings),
    ...(settings.dropInvalid ? ["Packets that connection tracking calls invalid are dropped."] : []),
    "Other UDP and ICMP are never captured.",
  ];
}

function inbound(settings: CaptureSettings): string {
  const { inboundPortsInclude, inboundPortsExclude, inboundTunnelPort, inboundCapturePort } = settings;
  if (inboundPortsInclude === "") return "Inbound: nothing is captured (no inbound ports are set).";
  const how = isTproxy(settings)
    ? `Envoy on port ${inboundCapturePort} by TPROXY, which keeps the client's address`
    : `Envoy on port ${inboundCapturePort} by REDIRECT`;
  if (inboundPortsInclude !== "*") return `Inbound: TCP to ports ${listText(inboundPortsInclude)} goes to ${how}.`;
  const spared = isTproxy(settings) ? inboundPortsExclude : [inboundTunnelPort, inboundPortsExclude].join(",");
  const except = splitList(spared).length === 0 ? "" : ` except to ports ${listText(spared)}`;
  return `Inbound: all TCP${except} goes to ${how}.`;
}

function outbound(settings: CaptureSettings): string {
  const { outboundIpRangesInclude, outboundIpRangesExclude, outboundPortsInclude, outboundPortsExclude, proxyPort } =
    settings;
  const included = [
    ...(outboundIpRangesInclude === "*" ? ["all destinations"] : splitList(outboundIpRangesInclude)),
    ...(outboundPortsInclude === "" ? [] : [`ports ${listText(outboundPortsInclude)}`]),
  ];
  if (included.length === 0) return "Outbound: nothing is captured (no destinations and no ports are set).";
  const excluded = [
    ...splitList(outboundIpRangesExclude),
    ...(outboundPortsExclude === "" ? [] : [`ports ${listText(outboundPortsExclude)}`]),
  ];
  const except = excluded.length === 0 ? "" : `, but never to ${excluded.join(", ")}`;
  return `Outbound: TCP to ${included.join(", ")} goes to Envoy on port ${proxyPort}${except}.`;
}

function exemptions({
  proxyUid,
  proxyGid,
  ownerGroupsInclude,
  ownerGroupsExclude,
  loopbackCidr,
}: CaptureSettings): string {
  const groups =
    ownerGroupsInclude === "*"
      ? ownerGroupsExclude === ""
        ? ""
        : `, nor that of groups ${listText(ownerGroupsExclude)}`
      : `, nor that of any group but ${listText(ownerGroupsInclude)}`;
  return (
    `Owners: outbound traffic of uid ${listText(proxyUid)} and gid ${listText(proxyGid)} is not captured${groups}. ` +
    `Their calls to the pod's own address are treated as inbound; ${loopbackCidr} is always direct.`
  );
}

function dns({
  redirectDns,
  captureAllDns,
  dnsServersV4,
  dnsServersV6,
  dnsTargetPort,
  generation,
}: CaptureSettings): string {
  if (GENERATION_SHAPES[generation].dnsToTargetPort) {
    return dnsTargetPort === "" ? "DNS: not captured." : `DNS: all UDP to port 53 goes to 127.0.0.1:${dnsTargetPort}.`;
  }
  if (!redirectDns) return "DNS: not captured.";
  if (captureAllDns) return "DNS: UDP and TCP to port 53 of any server goes to the agent on port 15053.";
  const servers = [...dnsServersV4, ...dnsServersV6];
  if (servers.length === 0) return "DNS: not captured, because no resolver is known.";
  return `DNS: UDP and TCP to port 53 of ${servers.join(", ")} goes to the agent on port 15053.`;
}

function interfaces({ excludeInterfaces, virtualInterfaces }: CaptureSettings): readonly string[] {
  return [
    ...(excludeInterfaces === "" ? [] : [`Interfaces ${listText(excludeInterfaces)}: bypassed in both directions.`]),
    ...(virtualInterfaces === ""
      ? []
      : [`Interfaces ${listText(virtualInterfaces)}: what comes in is treated as outbound traffic of the guest.`]),
  ];
}

function listText(list: string): string {
  const entries = splitList(list);
  const shown = entries.slice(0, 10).join(", ");
  return entries.length > 10 ? `${shown} and ${entries.length - 10} more` : shown;
}
