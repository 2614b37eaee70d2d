import { owners, ownerZones, redirects, resolverZones } from "../dns-steps.ts";
import * as m from "../matches.ts";
import type { Match } from "../rule.ts";
import type { RuleList, Step } from "../rule-list.ts";
import { isTproxy, splitList } from "../settings.ts";

/** 1.20: TCP among the outbound rules ... */
export const dnsTcpInOutput: Step = (list) => {
  if (list.settings.redirectDns) redirects(list, { table: "nat", chain: "ISTIO_OUTPUT" }, "tcp");
};

/** ... and UDP after all of them, in the built-in chains. The clean command of 1.20 deletes what this step writes. */
export const dnsUdpInOutput: Step = (list) => {
  if (!list.settings.redirectDns) return;
  const query = [m.impliedUdp, m.dport("53")];
  udpOwnerReturns(list);
  const { ownerGroupsInclude, ownerGroupsExclude } = list.settings;
  const add = (...matches: readonly Match[]) =>
    list.add({ table: "nat", chain: "OUTPUT", matches: [...query, ...matches], target: m.done });
  if (ownerGroupsInclude === "*") for (const group of splitList(ownerGroupsExclude)) add(m.owner("gid", group));
  else add(...splitList(ownerGroupsInclude).map((group) => m.notOwner("gid", group)));
  redirects(list, { table: "nat", chain: "OUTPUT" }, "udp");
  ownerZones(list, "OUTPUT");
  resolverZones(list, "OUTPUT", "PREROUTING");
};

/** 1.7: everything on UDP 53 goes to one local port. */
export const dnsByDnat: Step = (list) => {
  const port = list.settings.dnsTargetPort;
  if (port === "") return;
  udpOwnerReturns(list);
  list.add({
    table: "nat",
    chain: "OUTPUT",
    matches: [m.impliedUdp, m.dport("53")],
    target: { kind: "dnat", to: `127.0.0.1:${port}` },
  });
  list.add({
    table: "nat",
    chain: "POSTROUTING",
    matches: [m.impliedUdp, m.dport(port)],
    target: { kind: "snat", to: "127.0.0.1" },
  });
};

function udpOwnerReturns(list: RuleList): void {
  const query = [m.impliedUdp, m.dport("53")];
  for (const owner of owners(list)) {
    list.add({ table: "nat", chain: "OUTPUT", matches: [...query, owner], target: m.done });
  }
}

/** 1.7 marks what leaves the loopback address instead. */
export const tproxyOutputMark: Step = (list) => {
  if (!isTproxy(list.settings)) return;
  list.add({
    table: "mangle",
    chain: "OUTPUT",
    matches: [m.tcp, m.source("127.0.0.1/32"), m.notDestination("127.0.0.1/32")],
    target: { kind: "set-mark", value: list.settings.tproxyMark },
  });
};
