import { deepFreeze } from "../../base/deep-freeze.ts";
import { type ConfigObject, compareAge } from "../../istio-api/config-object.ts";
import { compareSpecificity, hostCovers, isWildcard, resolveShortHost } from "../../istio-api/values/hostname.ts";
import { perValue } from "../derive/derived-store.ts";
import { groupBy, sameElements } from "../lists.ts";
import type { MeshSettings } from "../mesh-settings.ts";
import type { AppliedDestinationRule } from "../push-snapshot.ts";
import { selects } from "../selector.ts";
import type { Service } from "../service.ts";
import { exportToKey, isPrivate, isVisibleTo } from "../visibility.ts";

type DestinationRule = ConfigObject<"DestinationRule">;
type Labels = Readonly<Record<string, string>>;
type Settings = Pick<MeshSettings, "domainSuffix" | "defaultDestinationRuleExportTo" | "rootNamespace">;

type RuledService = Pick<Service, "hostname" | "namespace">;

/** Who calls. Without labels (the server's side), rules with a selector do not count. */
interface RuleClient {
  readonly namespace: string;
  readonly labels?: Labels;
}

export interface DestinationRuleIndex {
  readonly given: readonly DestinationRule[];
  readonly settings: Settings;
  readonly namespaces: ReadonlyMap<string, NamespaceRules>;
  /** The rule for calls of the client to the service: of the client's namespace, else the service's, else the root namespace. */
  find(client: RuleClient, service: RuledService): AppliedDestinationRule | undefined;
  /** The same for one client, each service looked up once. The same value for the same one. */
  findFor(client: RuleClient): (service: RuledService) => AppliedDestinationRule | undefined;
  /** Names of labels that selectors of the namespace ask for. */
  selectorLabels(namespace: string): readonly string[];
  /** Names of client labels that failover by label compares. */
  readonly failoverLabels: ReadonlySet<string>;
}

interface NamespaceRules {
  readonly given: readonly DestinationRule[];
  readonly byHost: ReadonlyMap<string, readonly MergedDestinationRule[]>;
  /** Most specific first. */
  readonly wildcards: readonly string[];
}

export function buildDestinationRuleIndex(
  given: readonly DestinationRule[],
  { domainSuffix, defaultDestinationRuleExportTo, rootNamespace }: Settings,
  previous?: DestinationRuleIndex,
): DestinationRuleIndex {
  const settings = { domainSuffix, defaultDestinationRuleExportTo, rootNamespace };
  const known = previous !== undefined && hasSameSettings(previous.settings, settings) ? previous : undefined;
  if (known !== undefined && sameElements(known.given, given)) return known;
  const namespaces = new Map<string, NamespaceRules>();
  for (const [namespace, rules] of groupBy(given, (rule) => rule.namespace)) {
    const before = known?.namespaces.get(namespace);
    const isSame = before !== undefined && sameElements(before.given, rules);
    namespaces.set(namespace, isSame ? before : toNamespaceRules(rules, settings));
  }
  const findFor = perValue((client: RuleClient) =>
    perValue((service: RuledService) => find(namespaces, settings, client, service)),
  );
  return {
    given,
    settings,
    namespaces,
    find: (client, service) => find(namespaces, settings, client, service),
    findFor,
    selectorLabels: (namespace) =>
      (namespaces.get(namespace)?.given ?? []).flatMap((rule) => Object.keys(selectorOf(rule) ?? {})),
    failoverLabels: new Set(given.flatMap(failoverLabelsOf)),
  };
}

function hasSameSettings(a: Settings, b: Settings): boolean {
  const exportTo = sameElements(a.defaultDestinationRuleExportTo, b.defaultDestinationRuleExportTo);
  return exportTo && a.domainSuffix === b.domainSuffix && a.rootNamespace === b.rootNamespace;
}

function toNamespaceRules(given: readonly DestinationRule[], settings: Settings): NamespaceRules {
  const byHost = mergeDestinationRules(given, settings);
  return { given, byHost, wildcards: [...byHost.keys()].filter(isWildcard).sort(compareSpecificity) };
}

function find(
  namespaces: ReadonlyMap<string, NamespaceRules>,
  { rootNamespace, defaultDestinationRuleExportTo: meshDefault }: Settings,
  { namespace, labels }: RuleClient,
  service: RuledService,
): AppliedDestinationRule | undefined {
  const lookUp = (owner: string, isCandidate: (rule: MergedDestinationRule) => boolean) =>
    mostSpecific(namespaces.get(owner), service.hostname, isCandidate);
  const isShown = ({ rule: { object } }: MergedDestinationRule) =>
    isVisibleTo(object.spec.exportTo, object.namespace, namespace, meshDefault);
  const isSelected = ({ selector }: MergedDestinationRule) =>
    selector === undefined || (labels !== undefined && selects(selector, labels));
  // The root namespace often holds a gateway and defaults for everybody: those defaults must not beat a service's own rules.
  const isOwn = (rule: MergedDestinationRule) => {
    const { object } = rule.rule;
    const counts = namespace !== rootNamespace || isPrivate(object.spec.exportTo, object.namespace, meshDefault);
    return counts && isShown(rule) && isSelected(rule);
  };
  const isExported = (rule: MergedDestinationRule) =>
    isShown(rule) && (rule.selector === undefined || (rule.rule.object.namespace === namespace && isSelected(rule)));
  return (
    lookUp(namespace, isOwn) ??
    lookUp(service.namespace, isExported) ??
    (service.namespace === rootNamespace ? undefined : lookUp(rootNamespace, isExported))
  );
}

/** Of the candidates for a host the first with a selector, else the last one: several without differ in whom they are shown to. */
function mostSpecific(
  rules: NamespaceRules | undefined,
  host: string,
  isCandidate: (rule: MergedDestinationRule) => boolean,
): AppliedDestinationRule | undefined {
  if (rules === undefined) return undefined;
  const choose = (name: string) => {
    const candidates = rules.byHost.get(name)?.filter(isCandidate) ?? [];
    return (candidates.find(({ selector }) => selector !== undefined) ?? candidates.at(-1))?.rule;
  };
  const exact = choose(host);
  if (exact !== undefined) return exact;
  for (const wildcard of rules.wildcards) {
    const found = hostCovers(wildcard, host) ? choose(wildcard) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** `label` and `label=value` in failoverPriority. */
function failoverLabelsOf({ spec }: DestinationRule): readonly string[] {
  const policies = [spec.trafficPolicy, ...spec.subsets.map(({ trafficPolicy }) => trafficPolicy)];
  const balancers = policies.flatMap((policy) => [
    policy?.loadBalancer,
    ...(policy?.portLevelSettings ?? []).map(({ loadBalancer }) => loadBalancer),
  ]);
  const entries = balancers.flatMap((balancer) => [
    ...(balancer?.localityLbSetting?.failoverPriority ?? []),
    ...(balancer?.zoneAwareLbSetting?.failoverPriority ?? []),
  ]);
  return entries.map(labelName);
}

export function labelName(entry: string): string {
  return entry.split("=", 1)[0] ?? entry;
}

/** Rules for one host that count as one. */
interface MergedDestinationRule {
  readonly host: string;
  readonly rule: AppliedDestinationRule;
  /** Workloads it is for; undefined: all that see it. */
  readonly selector?: Labels;
  readonly exportToKey: string;
}

/**
 * Rules of one namespace by host. Those with equal selector and equal visibility are one: the first one's policy, the subsets of all, a
 * name once. A rule with a selector, which is private to its namespace, also takes over what rules without one say that are meant for the
 * namespace by name; those stay rules of their own.
 */
function mergeDestinationRules(
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
