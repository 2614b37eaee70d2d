import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { generateRoute } from "../../src/envoy-config/routes/generate-route.ts";
import { PLAIN_COMMANDS } from "../../src/envoy-config/routes/headers.ts";
import { decodeObject } from "../../src/istio-api/decode/decode-object.ts";
import { pack } from "../../src/protobuf/envoy/index.ts";
import type { RouteConfiguration } from "../../src/protobuf/gen/envoy/config/route/v3.ts";
import { arbitraryHttpRoutes } from "../support/discovery/arbitrary-virtual-service.ts";
import { destinationRule, httpService, scopeOf, virtualService } from "../support/discovery/routes.ts";
import { envoyVerdict } from "../support/envoy/run-envoy.ts";
import { needs } from "../support/needs.ts";

beforeEach(needs("envoy"));

/** Envoy's verdict on all of them at once, each in a listener of its own: "ok", or the reason it prints. */
function validate(configs: readonly RouteConfiguration[]): Promise<string> {
  return envoyVerdict({
    node: { id: "test", cluster: "test" },
    // As in every bootstrap of the agent: Envoy's own limit of 100 is too low for everyday patterns.
    layeredRuntime: { layers: [{ name: "regex", staticLayer: { "re2.max_program_size.error_level": 32768 } }] },
    staticResources: { listeners: configs.map((config, index) => listener(config, index)) },
  });
}

function listener(routeConfig: RouteConfiguration, index: number): object {
  const filter = <Name extends Parameters<typeof pack>[0]>(name: string, type: Name) => ({
    name: `envoy.filters.http.${name}`,
    typedConfig: pack(type, {}),
  });
  const manager = {
    "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    statPrefix: "test",
    routeConfig,
    httpFilters: [
      filter("fault", "envoy.extensions.filters.http.fault.v3.HTTPFault"),
      filter("cors", "envoy.extensions.filters.http.cors.v3.Cors"),
      filter("router", "envoy.extensions.filters.http.router.v3.Router"),
    ],
  };
  return {
    name: `l${index}`,
    address: { socketAddress: { address: "127.0.0.1", portValue: 10_000 + index } },
    filterChains: [{ filters: [{ name: "envoy.filters.network.http_connection_manager", typedConfig: manager }] }],
  };
}

describe("stock Envoy accepts", () => {
  test("nothing that is wrong: the check can fail", async () => {
    const twice = { name: "a", domains: ["x"], routes: [] };
    expect(await validate([{ name: "bad", virtualHosts: [twice, { ...twice, name: "b" }] }])).toMatch(/unique values/i);
  });

  test("whatever a rule says that passed validation", async () => {
    const rules = fc
      .sample(arbitraryHttpRoutes(), { numRuns: 1500, seed: 7 })
      .map((http, index) => virtualService(`r${index}`, { hosts: ["web"], gateways: ["mesh", "edge"], http }))
      .filter((rule) => decodeObject(rule, { defaultNamespace: "default" }).object !== undefined);
    expect(rules.length).toBeGreaterThan(100);
    const policy = destinationRule("web", {
      trafficPolicy: { loadBalancer: { consistentHash: { httpCookie: { name: "s", ttl: "0s", path: "/" } } } },
    });
    const configs = rules.map((rule) => generateRoute(scopeOf([httpService("web"), policy, rule]), "8080"));
    expect(await validate(configs)).toBe("ok");
  });

  test("every command that header values may use", async () => {
    const values = [...PLAIN_COMMANDS, "REQ(x-a)", "RESP(x-a?x-b):5", "TRAILER(x)", "START_TIME"];
    const set = Object.fromEntries(values.map((command, index) => [`x-${index}`, `%${command}%`]));
    const http = [{ headers: { request: { set }, response: { set } }, route: [{ destination: { host: "web" } }] }];
    const config = generateRoute(scopeOf([httpService("web"), virtualService("web", { http })]), "8080");
    expect(JSON.stringify(config)).not.toContain("%%");
    expect(await validate([config])).toBe("ok");
  });
});
