import * as m from "./matches.ts";
import type { RuleList, Step } from "./rule-list.ts";
import { isTproxy, splitList } from "./settings.ts";

/** Interfaces that are bypassed in both directions. */
export const excludedInterfaces: Step = (list) => {
  const names = splitList(list.settings.excludeInterfaces);
  for (const table of isTproxy(list.settings) ? (["nat", "mangle"] as const) : (["nat"] as const)) {
    for (const name of names) {
      list.add({
        table,
        chain: "PREROUTING",
        matches: [m.from(name)],
        target: m.done,
        trace: "ExcludeInterfaceCommand",
      });
      list.add({ table, chain: "OUTPUT", matches: [m.to(name)], target: m.done, trace: "ExcludeInterfaceCommand" });
    }
  }
};

/** What enters from a virtual interface is the guest's outbound traffic, so it must not meet the inbound rules. */
export const virtualInterfaces: Step = (list) => {
  for (const name of splitList(list.settings.virtualInterfaces)) {
    list.add({
      table: "nat",
      chain: "PREROUTING",
      position: 1,
      matches: [m.from(name)],
      target: m.done,
      trace: "KubevirtCommand",
    });
  }
};

export const dropInvalidByChain: Step = (list) => {
  if (!list.settings.dropInvalid) return;
  list.add({ table: "mangle", chain: "PREROUTING", matches: [m.nftTcp, m.invalid], target: m.jump("ISTIO_DROP") });
  list.add({ table: "mangle", chain: "ISTIO_DROP", target: { kind: "drop" } });
};

export const dropInvalidDirectly: Step = (list) => {
  if (!list.settings.dropInvalid) return;
  list.add({ table: "mangle", chain: "PREROUTING", matches: [m.nftTcp, m.invalid], target: { kind: "drop" } });
};

/** The tunnel port already speaks to the proxy. */
export const tunnelPortExempt: Step = (list) =>
  list.add({
    table: "nat",
    chain: "ISTIO_INBOUND",
    matches: [m.tcp, m.dport(list.settings.inboundTunnelPort)],
    target: m.done,
  });

export const redirectTargets: Step = (list) => {
  list.add({ table: "nat", chain: "ISTIO_REDIRECT", matches: [m.tcp], target: m.redirect(list.settings.proxyPort) });
  list.add({
    table: "nat",
    chain: "ISTIO_IN_REDIRECT",
    matches: [m.tcp],
    target: m.redirect(list.settings.inboundCapturePort),
    trace: "InboundCapture",
  });
};

export interface InboundShape {
  /** Before 1.13 port 22 was never captured by the wildcard. */
  readonly exemptsSsh: boolean;
  readonly tproxyPort: "inboundCapturePort" | "proxyPort";
  /** 1.7 redirects IPv6 even in TPROXY mode. */
  readonly alwaysRedirects: boolean;
}

export function inboundCapture(shape: InboundShape): Step {
  return (list) => {
    if (list.settings.inboundPortsInclude === "") return;
    const tproxy = isTproxy(list.settings) && !shape.alwaysRedirects;
    if (tproxy) tproxyChains(list, list.settings[shape.tproxyPort]);
    const table = tproxy ? "mangle" : "nat";
    list.add({ table, chain: "PREROUTING", matches: [m.tcp], target: m.jump("ISTIO_INBOUND"), trace: "JumpInbound" });
    if (list.settings.inboundPortsInclude === "*") captureAllPorts(list, table, shape.exemptsSsh);
    else captureListedPorts(list, table);
  };
}

function tproxyChains(list: RuleList, port: string): void {
  const mark = list.settings.tproxyMark;
  list.add({ table: "mangle", chain: "ISTIO_DIVERT", target: { kind: "set-mark", value: mark } });
  list.add({ table: "mangle", chain: "ISTIO_DIVERT", target: { kind: "accept" } });
  for (const family of list.families) {
    list.add({
      table: "mangle",
      chain: "ISTIO_TPROXY",
      family,
      matches: [m.notDestination(m.loopback(list.settings, family)), m.tcp],
      target: { kind: "tproxy", port, mark },
    });
  }
}

function captureAllPorts(list: RuleList, table: "mangle" | "nat", exemptsSsh: boolean): void {
  const chain = "ISTIO_INBOUND";
  if (exemptsSsh) list.add({ table, chain, matches: [m.tcp, m.dport("22")], target: m.done });
  for (const port of splitList(list.settings.inboundPortsExclude)) {
    list.add({ table, chain, matches: [m.tcp, m.dport(port)], target: m.done, trace: "ExcludeInboundPort" });
  }
  if (table === "nat") {
    list.add({ table, chain, matches: [m.tcp], target: m.jump("ISTIO_IN_REDIRECT") });
    return;
  }
  list.add({ table, chain, matches: [m.tcp, m.established], target: m.jump("ISTIO_DIVERT") });
  list.add({ table, chain, matches: [m.tcp], target: m.jump("ISTIO_TPROXY") });
}

function captureListedPorts(list: RuleList, table: "mangle" | "nat"): void {
  const chain = "ISTIO_INBOUND";
  const trace = "IncludeInboundPort";
  for (const port of splitList(list.settings.inboundPortsInclude)) {
    const matches = [m.tcp, m.dport(port)];
    if (table === "nat") {
      list.add({ table, chain, matches, target: m.jump("ISTIO_IN_REDIRECT"), trace });
      continue;
    }
    list.add({ table, chain, matches: [...matches, m.established], target: m.jump("ISTIO_DIVERT"), trace });
    list.add({ table, chain, matches, target: m.jump("ISTIO_TPROXY"), trace });
  }
}
