import { sameElements } from "../../mesh-model/lists.ts";
import type { AppliedDestinationRule, OutboundScope, VirtualServiceRule } from "../../mesh-model/push-snapshot.ts";
import type { Service } from "../../mesh-model/service.ts";
import type { VirtualHost } from "../../protobuf/gen/envoy/config/route/v3.ts";
import type { PortForm } from "./domains.ts";
import { routeHeaders } from "./route-configuration.ts";

export interface HostContext {
  readonly scope: OutboundScope;
  readonly port: number;
  readonly form: PortForm;
  /** One more address that leads to this host alone. */
  readonly address?: string;
}

interface BuiltHost {
  readonly host: VirtualHost;
  /** The answers it was built from, besides owner and rules. */
  readonly consulted: Consulted;
}

interface Entry extends BuiltHost {
  readonly rules: readonly VirtualServiceRule[];
}

/**
 * Virtual hosts live as long as the service (or rule) they belong to, over snapshots and for all proxies alike: a change of one
 * service rebuilds one virtual host. Owners are immutable values, so that a changed one is another key and its past is collected.
 */
const HOSTS = new WeakMap<object, Map<string, Entry[]>>();

/** Scopes may see different destinations or rules behind the same name; more variants than these are built again. */
const MAX_VARIANTS = 8;

interface HostSubject {
  /** What the virtual host belongs to. */
  readonly owner: object;
  readonly rules: readonly VirtualServiceRule[];
  /** Cheap to find, and equal for most callers: those of the service's namespace, and all others. */
  readonly domains: readonly string[];
}

export function memoizeHost(subject: HostSubject, context: HostContext, build: () => BuiltHost): VirtualHost {
  const { owner, rules } = subject;
  const entries = entriesOf(owner, hostKey(subject, context));
  const known = entries.find(
    (entry) => sameElements(entry.rules, rules) && isStillTrue(context.scope, entry.consulted),
  );
  if (known !== undefined) return known.host;
  const built = build();
  entries.unshift({ ...built, rules });
  if (entries.length > MAX_VARIANTS) entries.pop();
  return built.host;
}

function entriesOf(owner: object, key: string): Entry[] {
  const variants = HOSTS.get(owner) ?? new Map<string, Entry[]>();
  HOSTS.set(owner, variants);
  const entries = variants.get(key) ?? [];
  variants.set(key, entries);
  return entries;
}

/** Everything of caller and mesh that routes depend on. Labels and namespace count only for rules that look at them. */
function hostKey({ rules, domains }: HostSubject, { scope, port }: HostContext): string {
  const { labels, namespace, generator } = scope.traits;
  const caller = rules.some(matchesCaller) ? JSON.stringify([labels, namespace]) : "";
  const retries = scope.mesh.defaultRetries === undefined ? "" : JSON.stringify(scope.mesh.defaultRetries);
  const { attemptCount, forwardedHost } = routeHeaders(scope);
  const headers = `${Number(attemptCount)}${Number(forwardedHost)}`;
  return `${port} ${generator} ${headers} ${caller} ${retries} ${domains.join(" ")}`;
}

function matchesCaller(rule: VirtualServiceRule): boolean {
  let looks = CALLER_RULES.get(rule);
  if (looks === undefined) {
    looks = rule.spec.http.some(({ match }) =>
      match.some(({ sourceLabels, sourceNamespace }) => sourceNamespace !== "" || Object.keys(sourceLabels).length > 0),
    );
    CALLER_RULES.set(rule, looks);
  }
  return looks;
}

const CALLER_RULES = new WeakMap<VirtualServiceRule, boolean>();

/** What routes need to know about their destinations. */
export type RouteLookup = Pick<OutboundScope, "service" | "destinationRule">;

/** The answers that something was built from: while all of them are the same, so is what was built. */
interface Consulted {
  readonly services: readonly (readonly [string, Service | undefined])[];
  readonly rules: readonly (readonly [Service, AppliedDestinationRule | undefined])[];
}

export interface RecordingLookup extends RouteLookup {
  consulted(): Consulted;
}

/** Asks the scope and records the answers. */
export function recordLookups(scope: RouteLookup): RecordingLookup {
  const services = new Map<string, Service | undefined>();
  const rules = new Map<Service, AppliedDestinationRule | undefined>();
  return {
    service(host) {
      const service = scope.service(host);
      services.set(host, service);
      return service;
    },
    destinationRule(service) {
      const rule = scope.destinationRule(service);
      rules.set(service, rule);
      return rule;
    },
    consulted: () => ({ services: [...services], rules: [...rules] }),
  };
}

function isStillTrue(scope: RouteLookup, { services, rules }: Consulted): boolean {
  return (
    services.every(([host, service]) => scope.service(host) === service) &&
    rules.every(([service, rule]) => scope.destinationRule(service) === rule)
  );
}
