import * as m from "./matches.ts";
import type { Family, Protocol, Target } from "./rule.ts";
import type { RuleList, Step } from "./rule-list.ts";
import { splitList } from "./settings.ts";

const OUTPUT = { table: "nat", chain: "ISTIO_OUTPUT" } as const;

export function outputJump(protocol?: "tcp"): Step {
  const matches = protocol === undefined ? [] : [m.tcp];
  return (list) =>
    list.add({ table: "nat", chain: "OUTPUT", matches, target: m.jump("ISTIO_OUTPUT"), trace: "JumpOutbound" });
}

export function excludedOutboundPorts(protocols: readonly Protocol[]): Step {
  return (list) => {
    for (const port of splitList(list.settings.outboundPortsExclude)) {
      for (const protocol of protocols) {
        const match = protocol === "tcp" ? m.impliedTcp : m.impliedUdp;
        list.add({ ...OUTPUT, matches: [match, m.dport(port)], target: m.done });
      }
    }
  };
}

export const passthroughSource: Step = (list) => {
  for (const family of list.families) {
    list.add({ ...OUTPUT, family, matches: [m.to("lo"), m.source(m.passthrough(family))], target: m.done });
  }
};

export interface OwnerShape {
  /** `ports` matches tcp and spares the tunnel port; `any` is the shape of 1.7. */
  readonly selfCall: "ports" | "any";
  /** 1.20 spares port 53 whenever DNS capture was asked for, later generations only when it is really on. */
  readonly dnsWhen: "captured" | "asked";
  readonly heedsLoopbackRange: boolean;
}

/** Three rules per owner: calls to itself go to the inbound port, other loopback traffic is left alone, its own traffic too. */
export function ownerExemptions(shape: OwnerShape): Step {
  return (list) => {
    const dns = shape.dnsWhen === "captured" ? list.dns : list.settings.redirectDns;
    for (const uid of splitList(list.settings.proxyUid)) ownerRules(list, shape, { kind: "uid", id: uid, dns });
    for (const gid of splitList(list.settings.proxyGid)) ownerRules(list, shape, { kind: "gid", id: gid, dns });
  };
}

interface Owner {
  readonly kind: "uid" | "gid";
  readonly id: string;
  readonly dns: boolean;
}

function ownerRules(list: RuleList, shape: OwnerShape, { kind, id, dns }: Owner): void {
  const tunnel = list.settings.inboundTunnelPort;
  // Only the UID form spares port 53; the published rule sets pin this.
  const spared = dns && kind === "uid" ? m.notDport("53", tunnel) : m.notDport(tunnel);
  const ports = shape.selfCall === "ports" ? [m.tcp, spared] : [];
  for (const family of list.families) {
    const away = m.notDestination(m.loopback(list.settings, family));
    list.add({
      ...OUTPUT,
      family,
      matches: [m.to("lo"), away, ...ports, m.owner(kind, id)],
      target: m.jump("ISTIO_IN_REDIRECT"),
    });
  }
  if (!shape.heedsLoopbackRange || !list.loopbackIncluded) {
    const rest = dns ? [m.tcp, m.notDport("53")] : [];
    list.add({ ...OUTPUT, matches: [m.to("lo"), ...rest, m.notOwner(kind, id)], target: m.done });
  }
  list.add({ ...OUTPUT, matches: [m.owner(kind, id)], target: m.done });
}

/** Applications that are captured (or not) by the group they run with. */
export const ownerGroups: Step = (list) => {
  const { ownerGroupsInclude, ownerGroupsExclude } = list.settings;
  if (ownerGroupsInclude === "*") {
    for (const group of splitList(ownerGroupsExclude))
      list.add({ ...OUTPUT, matches: [m.owner("gid", group)], target: m.done });
    return;
  }
  const matches = splitList(ownerGroupsInclude).map((group) => m.notOwner("gid", group));
  list.add({ ...OUTPUT, matches, target: m.done });
};

export const loopbackReturn: Step = (list) => {
  for (const family of list.families) {
    list.add({ ...OUTPUT, family, matches: [m.destination(m.loopback(list.settings, family))], target: m.done });
  }
};

export const excludedRanges: Step = (list) => {
  for (const family of list.families) {
    for (const cidr of prefixes(list, "exclude", family)) {
      list.add({ ...OUTPUT, family, matches: [m.destination(cidr)], target: m.done });
    }
  }
};

export const includedPorts: Step = (list) => {
  for (const port of splitList(list.settings.outboundPortsInclude)) {
    list.add({ ...OUTPUT, matches: [m.impliedTcp, m.dport(port)], target: m.jump("ISTIO_REDIRECT") });
  }
};

export interface IncludedRangesShape {
  /** Up to 1.22 a list of prefixes ended with an explicit RETURN. */
  readonly endsWithReturn: boolean;
  /** 1.7 returned IPv6 packets of virtual interfaces instead of redirecting them. */
  readonly wildcardVirtualTarget: Target;
}

export function includedRanges(shape: IncludedRangesShape): Step {
  return (list) => {
    if (list.settings.outboundIpRangesInclude === "*") {
      list.add({ ...OUTPUT, target: m.jump("ISTIO_REDIRECT") });
      for (const name of splitList(list.settings.virtualInterfaces)) {
        list.add({ ...fromVirtual, matches: [m.from(name)], target: shape.wildcardVirtualTarget });
      }
      return;
    }
    for (const family of list.families) includePrefixes(list, family, shape);
  };
}

const fromVirtual = { table: "nat", chain: "PREROUTING", position: 1, trace: "KubevirtCommand" } as const;

function includePrefixes(list: RuleList, family: Family, shape: IncludedRangesShape): void {
  const cidrs = prefixes(list, "include", family);
  for (const cidr of cidrs) {
    for (const name of splitList(list.settings.virtualInterfaces)) {
      const matches = [m.from(name), m.destination(cidr)];
      list.add({ ...fromVirtual, family, matches, target: m.jump("ISTIO_REDIRECT") });
    }
    list.add({ ...OUTPUT, family, matches: [m.destination(cidr)], target: m.jump("ISTIO_REDIRECT") });
  }
  if (cidrs.length > 0 && shape.endsWithReturn) list.add({ ...OUTPUT, family, target: m.done });
}

function prefixes(list: RuleList, which: "include" | "exclude", family: Family): readonly string[] {
  const ranges = list.ranges(which, family);
  return ranges === "*" ? [] : ranges;
}
