/** What the proxy takes from resolv.conf. */
export interface ResolvConf {
  /** As written; port 53 is implied. */
  readonly nameservers: readonly string[];
  readonly search: readonly string[];
}

/** The last `domain` or `search` line counts. Unlike glibc there is no limit of three servers, and nothing is validated here. */
export function parseResolvConf(text: string): ResolvConf {
  const nameservers: string[] = [];
  let search: string[] = [];
  for (const line of text.split("\n")) {
    const [keyword, ...values] = line.split(/\s+/).filter((field) => field !== "");
    const [first] = values;
    if (keyword === "nameserver" && first !== undefined) nameservers.push(first);
    else if (keyword === "domain") search = first === undefined ? [] : [first];
    else if (keyword === "search") search = values;
  }
  return { nameservers, search };
}
