import * as m from "./matches.ts";
import type { Family, Match, Protocol } from "./rule.ts";
import type { RuleDraft, RuleList, Step } from "./rule-list.ts";
import { splitList } from "./settings.ts";

/** The agent's DNS server. */
const AGENT_PORT = "15053";
/** Conntrack zones keep the application's query and the agent's own query to the same resolver apart. */
const AGENT_ZONE = m.zone("1");
const APPLICATION_ZONE = m.zone("2");

/** 1.25 and later: chains of their own in nat and raw. */
export const dnsByChain: Step = (list) => {
  if (!list.dns) return;
  const chain = "ISTIO_OUTPUT_DNS";
  const families = resolvedFamilies(list);
  list.add({ table: "raw", chain: "OUTPUT", target: m.jump(chain) });
  if (families !== undefined)
    list.add({ table: "nat", chain: "ISTIO_OUTPUT", family: families, target: m.jump(chain) });
  redirects(list, { table: "nat", chain }, "tcp");
  redirects(list, { table: "nat", chain }, "udp");
  ownerZones(list, chain);
  if (families === undefined) return;
  list.add({ table: "raw", chain: "PREROUTING", family: families, target: m.jump("ISTIO_INBOUND") });
  resolverZones(list, chain, "ISTIO_INBOUND");
};

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

function redirects(list: RuleList, place: Pick<RuleDraft, "table" | "chain">, protocol: Protocol): void {
  const target = m.redirect(AGENT_PORT);
  const implied = protocol === "tcp" ? m.impliedTcp : m.impliedUdp;
  if (list.settings.captureAllDns) {
    list.add({ ...place, matches: [protocol === "tcp" ? m.tcp : implied, m.dport("53")], target });
    return;
  }
  eachResolver(list, (family, address) =>
    list.add({ ...place, family, matches: [implied, m.dport("53"), m.destination(address)], target }),
  );
}

function ownerZones(list: RuleList, chain: string): void {
  for (const owner of owners(list)) {
    list.add({ table: "raw", chain, matches: [m.impliedUdp, m.dport("53"), owner], target: AGENT_ZONE });
    list.add({ table: "raw", chain, matches: [m.impliedUdp, m.sport(AGENT_PORT), owner], target: APPLICATION_ZONE });
  }
}

function resolverZones(list: RuleList, output: string, input: string): void {
  const query = [m.impliedUdp, m.dport("53")];
  const answer = [m.impliedUdp, m.sport("53")];
  if (list.settings.captureAllDns) {
    list.add({ table: "raw", chain: output, matches: query, target: APPLICATION_ZONE });
    list.add({ table: "raw", chain: input, matches: answer, target: AGENT_ZONE });
    return;
  }
  eachResolver(list, (family, address) => {
    list.add({
      table: "raw",
      chain: output,
      family,
      matches: [...query, m.destination(address)],
      target: APPLICATION_ZONE,
    });
    list.add({ table: "raw", chain: input, family, matches: [...answer, m.source(address)], target: AGENT_ZONE });
  });
}

function owners(list: RuleList): readonly Match[] {
  const { proxyUid, proxyGid } = list.settings;
  return [
    ...splitList(proxyUid).map((uid) => m.owner("uid", uid)),
    ...splitList(proxyGid).map((gid) => m.owner("gid", gid)),
  ];
}

function eachResolver(list: RuleList, visit: (family: Family, prefix: string) => void): void {
  for (const family of list.families) {
    for (const address of list.resolvers(family)) visit(family, m.host(address, family));
  }
}

/** The IP versions that have anything to redirect: one rule of family `any` when both have. */
function resolvedFamilies(list: RuleList): Family | "any" | undefined {
  if (list.settings.captureAllDns) return "any";
  const [first, second] = list.families.filter((family) => list.resolvers(family).length > 0);
  return second === undefined ? first : "any";
}
