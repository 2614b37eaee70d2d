import { type CaseContext, NO_CONTEXT } from "./case-context.ts";
import { type Difference, differences } from "./difference.ts";
import { asSet, type Json, list, object } from "./json.ts";

/** Differences between two name tables that are not accepted. */
export function compareNameTable(golden: Json, ours: Json, context: CaseContext = NO_CONTEXT): readonly Difference[] {
  const wanted = object(golden.table);
  const found = object(ours.table);
  const isBetter = (name: string) => wanted[name] === undefined && listsEndpoints(name, object(found[name]), context);
  const kept = Object.keys(found).filter((name) => !isBetter(name));
  return differences(projectTable(wanted, Object.keys(wanted)), projectTable(found, kept), "nametable");
}

function projectTable(table: Json, names: readonly string[]): Json {
  return Object.fromEntries(
    names.map((name) => {
      const { ips, ...rest } = object(table[name]);
      return [name, { ...rest, ips: asSet(list(ips)) }];
    }),
  );
}

/** The reference leaves headless entries out although it knows their endpoints. */
function listsEndpoints(name: string, entry: Json, { headless }: CaseContext): boolean {
  const known = headless.get(name) ?? [];
  const ips = list(entry.ips).map(String);
  return ips.length > 0 && ips.every((ip) => known.includes(ip));
}
