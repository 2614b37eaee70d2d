import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { arbitraryHttpRoutes } from "../../../test/support/discovery/arbitrary-virtual-service.ts";
import { httpService, scopeOf, virtualService } from "../../../test/support/discovery/routes.ts";
import { decodeObject } from "../../istio-api/decode/decode-object.ts";
import { generateRoute } from "./generate-route.ts";

describe("whatever users write", () => {
  const hosts = fc.constantFrom(
    "web",
    "web.default",
    "web.example",
    "WEB.example",
    "*.example",
    "a.example",
    "10.96.0.1",
  );
  const services = fc.uniqueArray(
    fc.record({
      host: hosts.filter((host) => host.includes(".") && !/^[\d.]+$/.test(host)),
      addresses: fc.subarray(["10.96.0.1", "10.96.0.2", "2001:db8::1", "10.97.0.0/16"]),
      protocol: fc.constantFrom("HTTP", "", "GRPC"),
      name: fc.stringMatching(/^[a-z]{1,6}$/),
    }),
    { selector: ({ name }) => name, maxLength: 5 },
  );
  const rules = fc.uniqueArray(
    fc.record({
      name: fc.stringMatching(/^[a-z]{1,6}$/),
      hosts: fc.uniqueArray(hosts, { minLength: 1, maxLength: 2 }),
      http: arbitraryHttpRoutes(),
    }),
    { selector: ({ name }) => name, maxLength: 3 },
  );
  const isValid = (object: object) => decodeObject(object, { defaultNamespace: "default" }).object !== undefined;

  test("no domain stands twice, every route leads somewhere, the rest comes last", () => {
    fc.assert(
      fc.property(
        services,
        rules,
        fc.constantFrom("8080", "http_proxy", "web.example:8080"),
        (entries, ruled, name) => {
          const objects = [
            ...entries.map((entry) =>
              httpService(entry.name, {
                hosts: [entry.host],
                addresses: entry.addresses,
                ports: [{ number: 8080, name: "p", protocol: entry.protocol }],
              }),
            ),
            ...ruled.map((rule) => virtualService(rule.name, { hosts: rule.hosts, http: rule.http })),
          ].filter(isValid);
          const { virtualHosts = [] } = generateRoute(scopeOf(objects), name);
          const domains = virtualHosts.flatMap((host) => host.domains?.map((domain) => domain.toLowerCase()) ?? []);
          expect(new Set(domains).size).toBe(domains.length);
          expect(virtualHosts.every((host) => host.domains?.length && host.routes?.length)).toBe(true);
          expect(domains.indexOf("*")).toBe(domains.length - 1);
          for (const { route, redirect, directResponse } of virtualHosts.flatMap(({ routes = [] }) => routes)) {
            expect([route, redirect, directResponse].filter((action) => action !== undefined)).toHaveLength(1);
            const { clusters = [] } = route?.weightedClusters ?? {};
            const sum = clusters.reduce((total, { weight = 0 }) => total + weight, 0);
            expect(route === undefined || route.cluster !== undefined || (sum > 0 && sum < 2 ** 32)).toBe(true);
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});
