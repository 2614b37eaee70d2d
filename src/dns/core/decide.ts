import { RCODE, RECORD_TYPE } from "../../protocol/dns/constants.ts";
import type { DomainName } from "../../protocol/dns/name.ts";
import type { DnsRules } from "./generations.ts";
import type { Match } from "./lookup.ts";
import type { HostEntry } from "./name-table.ts";

/** What a local reply holds; the address records are those of `entry`. */
export interface LocalAnswer {
  readonly rcode: number;
  readonly entry: HostEntry | undefined;
  readonly ipv4: boolean;
  readonly ipv6: boolean;
  /** A CNAME or PTR record in front. */
  readonly name: { readonly type: number; readonly target: DomainName } | undefined;
}

/**
 * "forward-known": upstream is asked about a name that exists here, so its "no such name" must not reach the client, which would doubt the
 * addresses too.
 */
export type Decision = LocalAnswer | "forward" | "forward-known";

export const NO_DATA: LocalAnswer = {
  rcode: RCODE.NOERROR,
  entry: undefined,
  ipv4: false,
  ipv6: false,
  name: undefined,
};
const NAME_ERROR: LocalAnswer = { ...NO_DATA, rcode: RCODE.NXDOMAIN };

/**
 * The answer to a question of class IN about a known name. Services of the cluster have no other records than those served here, so
 * nothing about them is asked elsewhere; names from service entries may well have mail exchangers or texts in the public DNS. Their HTTPS
 * and SVCB records are withheld, as the address hints in them would lead past the mesh.
 */
export function decideKnown(match: Match, type: number, rules: DnsRules, forwardsOtherTypes: boolean): Decision {
  if (type === RECORD_TYPE.A) return addresses(match, true, false, rules);
  if (type === RECORD_TYPE.AAAA) return addresses(match, false, true, rules);
  if (forwardsOtherTypes) return "forward";
  if (type === RECORD_TYPE.ANY) return addresses(match, true, true, rules);
  if (match.target !== undefined) return type === RECORD_TYPE.CNAME ? aliasOnly(match.target) : NO_DATA;
  if (match.entry.isKubernetes || type === RECORD_TYPE.HTTPS || type === RECORD_TYPE.SVCB) return NO_DATA;
  return "forward-known";
}

export function pointerTo(target: DomainName): LocalAnswer {
  return { ...NO_DATA, name: { type: RECORD_TYPE.PTR, target } };
}

function addresses(match: Match, ipv4: boolean, ipv6: boolean, rules: DnsRules): LocalAnswer {
  const { entry, target } = match;
  const found = (ipv4 && entry.ipv4Count > 0) || (ipv6 && entry.ipv6Count > 0);
  // An alias to nothing would send resolvers after the target: an empty answer ends the matter.
  if (!found) return rules.missingFamily === "no-data" ? NO_DATA : NAME_ERROR;
  const name = target === undefined ? undefined : { type: RECORD_TYPE.CNAME, target };
  return { rcode: RCODE.NOERROR, entry, ipv4, ipv6, name };
}

function aliasOnly(target: DomainName): LocalAnswer {
  return { ...NO_DATA, name: { type: RECORD_TYPE.CNAME, target } };
}
