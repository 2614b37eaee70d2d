import type { AppliedDestinationRule, OutboundScope } from "../../mesh-model/push-snapshot.ts";
import type { Service } from "../../mesh-model/service.ts";

/** What routes need to know about the places they lead to. */
export type RouteLookup = Pick<OutboundScope, "service" | "destinationRule">;

/** The answers that something was built from: while all of them are the same, so is what was built. */
export interface Consulted {
  readonly services: readonly (readonly [string, Service | undefined])[];
  readonly rules: readonly (readonly [Service, AppliedDestinationRule | undefined])[];
}

export interface RecordingLookup extends RouteLookup {
  consulted(): Consulted;
}

/** Asks the scope and remembers the answers. */
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

export function isStillTrue(scope: RouteLookup, { services, rules }: Consulted): boolean {
  return (
    services.every(([host, service]) => scope.service(host) === service) &&
    rules.every(([service, rule]) => scope.destinationRule(service) === rule)
  );
}
