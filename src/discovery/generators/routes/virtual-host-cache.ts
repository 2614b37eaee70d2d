import type { VirtualHost } from "../../../protocol/gen/envoy/config/route/v3.ts";
import type { OutboundScope, ScopeTraits, VirtualServiceRule } from "../../snapshot/push-snapshot.ts";
import type { PortForm } from "./domains.ts";
import { type Consulted, isStillTrue } from "./route-lookup.ts";

export interface HostPlace {
  readonly scope: OutboundScope;
  readonly port: number;
  readonly form: PortForm;
  /** One more address that leads to this host alone. */
  readonly address?: string;
}

export interface BuiltHost {
  readonly host: VirtualHost;
  /** The answers it was built from, besides owner and rule. */
  readonly consulted: Consulted;
}

interface Entry extends BuiltHost {
  readonly rule: VirtualServiceRule | undefined;
}

/**
 * Virtual hosts live as long as the service (or rule) they belong to, over snapshots and for all proxies alike: a change of one
 * service makes one virtual host anew. Owners are immutable values, so that a changed one is another key and its past is collected.
 */
const HOSTS = new WeakMap<object, Map<string, Entry[]>>();

/** Scopes may see different destinations or rules behind the same name; more variants than these are built again. */
const MAX_VARIANTS = 8;

/** `owner` is what the host belongs to, `name` the one of its names that is meant. */
export function remember({ owner, name, rule }: HostSubject, place: HostPlace, build: () => BuiltHost): VirtualHost {
  const entries = entriesOf(owner, `${name} ${placeKey(place, rule)}`);
  const known = entries.find((entry) => entry.rule === rule && isStillTrue(place.scope, entry.consulted));
  if (known !== undefined) return known.host;
  const built = build();
  entries.unshift({ ...built, rule });
  if (entries.length > MAX_VARIANTS) entries.pop();
  return built.host;
}

export interface HostSubject {
  readonly owner: object;
  readonly name: string;
  readonly rule: VirtualServiceRule | undefined;
}

function entriesOf(owner: object, key: string): Entry[] {
  const places = HOSTS.get(owner) ?? new Map<string, Entry[]>();
  HOSTS.set(owner, places);
  const entries = places.get(key) ?? [];
  places.set(key, entries);
  return entries;
}

/** Everything of the caller that domains and routes depend on. Labels count only for rules that look at them. */
function placeKey({ scope, port, form, address = "" }: HostPlace, rule: VirtualServiceRule | undefined): string {
  const labels = rule !== undefined && looksAtLabels(rule) ? JSON.stringify(scope.traits.labels) : "";
  return `${port} ${form} ${address} ${traitsKey(scope.traits)} ${labels}`;
}

function traitsKey(traits: ScopeTraits): string {
  let key = TRAITS_KEYS.get(traits);
  if (key === undefined) {
    const { namespace, dnsDomain, ipv4, ipv6, dnsCapture, dnsAutoAllocate, generator } = traits;
    key = JSON.stringify([namespace, dnsDomain, ipv4, ipv6, dnsCapture && dnsAutoAllocate, generator]);
    TRAITS_KEYS.set(traits, key);
  }
  return key;
}

const TRAITS_KEYS = new WeakMap<ScopeTraits, string>();

function looksAtLabels(rule: VirtualServiceRule): boolean {
  let looks = LABEL_RULES.get(rule);
  if (looks === undefined) {
    looks = rule.spec.http.some(({ match }) => match.some(({ sourceLabels }) => Object.keys(sourceLabels).length > 0));
    LABEL_RULES.set(rule, looks);
  }
  return looks;
}

const LABEL_RULES = new WeakMap<VirtualServiceRule, boolean>();
