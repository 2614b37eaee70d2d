import { type Locality, parseLocality } from "../../mesh-model/locality.ts";
import type { LocalityGroup } from "./locality-group.ts";
import type { Distribution } from "./locality-setting.ts";

/**
 * Shares traffic of the client's place among others by percent; what a percentage covers is shared by its own weights. Places that
 * are not named get nothing. Without a distribution for the client everything stays as it is.
 */
export function distribute(
  groups: readonly LocalityGroup[],
  client: Locality,
  distributions: readonly Distribution[],
): readonly LocalityGroup[] {
  const chosen = distributions.find(({ from }) => covers(from, client));
  if (chosen === undefined) return groups;
  const shares = Object.entries(chosen.to);
  const shareOf = groups.map(({ locality }) => shares.find(([pattern]) => covers(pattern, locality)));
  const totals = new Map<string, number>();
  groups.forEach(({ weight }, index) => {
    const pattern = shareOf[index]?.[0];
    if (pattern !== undefined) totals.set(pattern, (totals.get(pattern) ?? 0) + weight);
  });
  return groups.flatMap((group, index) => {
    const [pattern, percent = 0] = shareOf[index] ?? [];
    if (pattern === undefined || percent === 0) return [];
    return [{ ...group, weight: Math.ceil((group.weight * percent) / (totals.get(pattern) ?? 1)) }];
  });
}

/** `region/zone/*`, `region/*`, `*`; parts that are not said cover everything. */
function covers(pattern: string, { region, zone, subzone }: Locality): boolean {
  const wanted = parseLocality(pattern);
  const isAny = (part: string) => part === "*" || part === "";
  return (
    (wanted.region === "*" || wanted.region === region) &&
    (isAny(wanted.zone) || wanted.zone === zone) &&
    (isAny(wanted.subzone) || wanted.subzone === subzone)
  );
}
