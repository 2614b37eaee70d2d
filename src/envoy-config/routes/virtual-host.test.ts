import { describe, expect, test } from "vitest";
import { destinationRule, httpService, scopeOf, virtualService } from "../../../test/support/discovery/routes.ts";
import type { OutboundScope } from "../../mesh-model/push-snapshot.ts";
import type { Service } from "../../mesh-model/service.ts";
import { generateRoute } from "./generate-route.ts";

/** A mesh as it is later: other services and rules, everything else the same value. */
function later(scope: OutboundScope, change: Partial<OutboundScope>, services = scope.services): OutboundScope {
  const [listener] = scope.egress;
  if (listener === undefined) throw new Error("a scope has an egress listener");
  const answeredBy = { destinationRules: () => undefined, modes: {}, endpoints: {}, shapes: {} };
  return {
    ...scope,
    content: { ...scope.content },
    answeredBy,
    service: (host) => services.find(({ hostname }) => hostname === host),
    destinationRule: (service) => scope.destinationRule(service),
    services,
    egress: [{ ...listener, services }],
    ...change,
  };
}

const hostsOf = (scope: OutboundScope) => new Set(generateRoute(scope, "8080").virtualHosts);
const newHosts = (before: OutboundScope, after: OutboundScope) => {
  const known = hostsOf(before);
  return [...hostsOf(after)].filter((host) => !known.has(host)).map(({ name }) => name);
};

const replace = (services: readonly Service[], at: number) =>
  services.map((service, index) => (index === at ? { ...service } : service));

describe("virtual hosts live on", () => {
  const many = Array.from({ length: 20 }, (_, index) => httpService(`s${index}`));

  test("the same values come out of the same inputs, for other scopes, too", () => {
    const scope = scopeOf(many);
    expect(newHosts(scope, later(scope, {}))).toEqual([]);
  });

  test("a changed service makes its own virtual host again", () => {
    const scope = scopeOf(many);
    const services = replace(scope.services, 7);
    expect(newHosts(scope, later(scope, {}, services))).toEqual([`${services[7]?.hostname}:8080`]);
  });

  test("a changed policy makes again what leads to its service", () => {
    const rule = virtualService("s0", { http: [{ route: [{ destination: { host: "s1" } }] }] });
    const scope = scopeOf([...many, rule]);
    const policy = scopeOf([
      ...many,
      destinationRule("s1", { trafficPolicy: { loadBalancer: { consistentHash: { useSourceIp: true } } } }),
    ]);
    const s1 = policy.service("s1.default.svc.cluster.local");
    const applied = s1 && policy.destinationRule(s1);
    expect(applied).toBeDefined();
    const after = later(scope, {
      destinationRule: (service) => (service.name === "s1" ? applied : scope.destinationRule(service)),
    });
    expect(newHosts(scope, after).sort()).toEqual([
      "s0.default.svc.cluster.local:8080",
      "s1.default.svc.cluster.local:8080",
    ]);
  });

  test("callers of other labels share all but what rules tell apart by label", () => {
    const rule = virtualService("s0", {
      http: [{ match: [{ sourceLabels: { app: "client" } }], route: [{ destination: { host: "s1" } }] }],
    });
    const scope = scopeOf([...many, rule]);
    const other = later(scope, { traits: { ...scope.traits, labels: { app: "other" } } });
    expect(newHosts(scope, other)).toEqual(["s0.default.svc.cluster.local:8080"]);
  });

  test("callers of another namespace have names of their own", () => {
    const scope = scopeOf(many);
    const traits = { ...scope.traits, namespace: "prod", dnsDomain: "prod.svc.cluster.local" };
    const prod = later(scope, { traits });
    expect(newHosts(scope, prod)).toHaveLength(many.length);
    // All namespaces but the service's own know it by the same names.
    const lab = { ...traits, namespace: "lab", dnsDomain: "lab.svc.cluster.local" };
    expect(newHosts(prod, later(scope, { traits: lab }))).toEqual([]);
  });

  test("callers of other namespaces share all but what rules tell apart by namespace", () => {
    const rule = virtualService("s0", {
      http: [{ match: [{ sourceNamespace: "lab" }], route: [{ destination: { host: "s1" } }] }],
    });
    const scope = scopeOf([...many, rule], { namespace: "prod" });
    const traits = { ...scope.traits, namespace: "lab", dnsDomain: "lab.svc.cluster.local" };
    expect(newHosts(scope, later(scope, { traits }))).toEqual(["s0.default.svc.cluster.local:8080"]);
  });
});

describe("a thousand services on one port", () => {
  const scope = scopeOf(Array.from({ length: 1000 }, (_, index) => httpService(`s${index}`)));

  test("have a virtual host each, and one for everything else", () => {
    expect(generateRoute(scope, "8080").virtualHosts).toHaveLength(1001);
  });

  test("a change of one makes one virtual host", () => {
    expect(newHosts(scope, later(scope, {}, replace(scope.services, 500)))).toHaveLength(1);
  });
});
