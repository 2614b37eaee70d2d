import { deepFreeze } from "../../base/deep-freeze.ts";
import { type ConfigObject, compareAge } from "../../istio-api/config-object.ts";
import { resolveShortHost } from "../../istio-api/values/hostname.ts";
import type { MeshSettings } from "../mesh-settings.ts";
import type { AppliedDestinationRule } from "../push-snapshot.ts";
import { exportToKey } from "../visibility.ts";

type DestinationRule = ConfigObject<"DestinationRule">;
type Labels = Readonly<Record<string, string>>;

/** Rules for one host that count as one. */
export interface MergedDestinationRule {
  readonly host: string;
  readonly rule: AppliedDestinationRule;
  /** Workloads it is for; undefined: all that see it. */
  readonly selector?: Labels;
  readonly exportToKey: string;
}

/**
 * Rules of one namespace by host. Those with equal selector and equal visibility are one: the first one's policy, the subsets of all, a
 * name once. A rule with a selector, which nobody outside sees, also takes over what rules without one say that are meant for the
 * namespace by name; those stay rules of their own.
 */
export function mergeDestinationRules(
  rules: readonly DestinationRule[],
  {
    domainSuffix,
    defaultDestinationRuleExportTo,
  }: Pick<MeshSettings, "domainSuffix" | "defaultDestinationRuleExportTo">,
): ReadonlyMap<string, readonly MergedDestinationRule[]> {
  const byHost = new Map<string, Building[]>();
  for (const object of [...rules].sort(selectorsFirst)) {
    const host = resolveShortHost(object.spec.host, object.namespace, domainSuffix);
    const selector = selectorOf(object);
    const exportTo = selector === undefined ? object.spec.exportTo : ["."];
    const visibility = exportToKey(exportTo, object.namespace, defaultDestinationRuleExportTo);
    const known = byHost.get(host) ?? [];
    byHost.set(host, known);
    let isMerged = false;
    for (const building of known) {
      const isSame = sameLabels(building.selector, selector) && building.exportToKey === visibility;
      const isTakenOver = building.selector !== undefined && selector === undefined && exportTo.includes(".");
      if (isSame || isTakenOver) building.objects.push(object);
      isMerged ||= isSame;
    }
    if (!isMerged) known.push({ objects: [object], selector, exportToKey: visibility });
  }
  return new Map([...byHost].map(([host, known]) => [host, known.map((building) => finish(host, building))]));
}

interface Building {
  readonly objects: DestinationRule[];
  readonly selector: Labels | undefined;
  readonly exportToKey: string;
}

/** The rule's selector; one without labels is none. */
export function selectorOf({ spec }: DestinationRule): Labels | undefined {
  const labels = spec.workloadSelector?.matchLabels;
  return labels === undefined || Object.keys(labels).length === 0 ? undefined : labels;
}

function selectorsFirst(a: DestinationRule, b: DestinationRule): number {
  const byKind = Number(selectorOf(a) === undefined) - Number(selectorOf(b) === undefined);
  return byKind || compareAge(a, b);
}

function sameLabels(a: Labels | undefined, b: Labels | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && a[name] === b[name]);
}

function finish(host: string, { objects, selector, exportToKey }: Building): MergedDestinationRule {
  const [object] = objects;
  if (object === undefined) throw new RangeError("no rule to merge");
  const names = new Set<string>();
  const subsets = objects
    .flatMap(({ spec }) => [...spec.subsets])
    .filter(({ name }) => !names.has(name) && names.add(name));
  const trafficPolicy = objects.find(({ spec }) => spec.trafficPolicy !== undefined)?.spec.trafficPolicy;
  const spec = { ...object.spec, host, subsets, ...(trafficPolicy && { trafficPolicy }) };
  return deepFreeze({ host, rule: { object, objects, spec }, ...(selector && { selector }), exportToKey });
}
