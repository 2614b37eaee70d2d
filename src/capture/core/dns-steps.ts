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

export function redirects(list: RuleList, at: Pick<RuleDraft, "table" | "chain">, protocol: Protocol): void {
  const target = m.redirect(AGENT_PORT);
  const implied = protocol === "tcp" ? m.impliedTcp : m.impliedUdp;
  if (list.settings.captureAllDns) {
    list.add({ ...at, matches: [protocol === "tcp" ? m.tcp : implied, m.dport("53")], target });
    return;
  }
  eachResolver(list, (family, address) =>
    list.add({ ...at, family, matches: [implied, m.dport("53"), m.destination(address)], target }),
  );
}

export function ownerZones(list: RuleList, chain: string): void {
  for (const owner of owners(list)) {
    list.add({ table: "raw", chain, matches: [m.impliedUdp, m.dport("53"), owner], target: AGENT_ZONE });
    list.add({ table: "raw", chain, matches: [m.impliedUdp, m.sport(AGENT_PORT), owner], target: APPLICATION_ZONE });
  }
}

export function resolverZones(list: RuleList, output: string, input: string): void {
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

export function owners(list: RuleList): readonly Match[] {
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
