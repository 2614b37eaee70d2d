/** What a product generation does differently; chosen once in `settings/` and passed as data. */
export interface DnsRules {
  /** Wildcard hosts cover the names below them. */
  readonly wildcards: boolean;
  /** The deprecated `alt_hosts` of an entry are served. */
  readonly altHosts: boolean;
  /** Local answers carry the AA bit. */
  readonly authoritative: boolean;
  /** What a known name without address of the asked family gets. */
  readonly missingFamily: "no-data" | "name-error";
  /** Names that already lie below the search domain get a search-expanded alias too. */
  readonly expandsSearchedNames: boolean;
  /** Addresses of an answer come in random order. */
  readonly shufflesAnswers: boolean;
  /** Sequential forwarding starts with a random server instead of the file's first. */
  readonly shufflesServers: boolean;
  /** The error about an unusable listen address ends with its cause. */
  readonly explainsBadAddress: boolean;
  /** The first name table is a condition of readiness, and `/debug/ndsz` shows it. */
  readonly reportsTable: boolean;
}

const MASTER: DnsRules = {
  wildcards: true,
  altHosts: true,
  authoritative: true,
  missingFamily: "no-data",
  expandsSearchedNames: false,
  shufflesAnswers: true,
  shufflesServers: true,
  explainsBadAddress: true,
  reportsTable: true,
};

const V1_20: DnsRules = { ...MASTER, expandsSearchedNames: true, shufflesServers: false, explainsBadAddress: false };

const V1_8: DnsRules = {
  ...V1_20,
  wildcards: false,
  altHosts: false,
  authoritative: false,
  missingFamily: "name-error",
  shufflesAnswers: false,
  reportsTable: false,
};

export const DNS_RULES = { master: MASTER, "1.20": V1_20, "1.8": V1_8 } as const;
