import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { generateRoute } from "../../src/envoy-config/routes/generate-route.ts";
import { PLAIN_COMMANDS } from "../../src/envoy-config/routes/headers.ts";
import { decodeObject } from "../../src/istio-api/decode/decode-object.ts";
import { pack } from "../../src/protobuf/envoy/index.ts";
import type { RouteConfiguration } from "../../src/protobuf/gen/envoy/config/route/v3.ts";
import { readGoldenCases } from "../conformance/discovery/golden-cases.ts";
import { arbitraryHttpRoutes } from "../support/discovery/arbitrary-virtual-service.ts";
import { destinationRule, httpService, scopeOf, virtualService } from "../support/discovery/routes.ts";
import { viewOfCase } from "../support/mesh-model/view-of-case.ts";
import { envoyPath, needs } from "../support/needs.ts";

let dir: string;
beforeEach(needs("envoy"));
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "routes-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Envoy's verdict on all of them at once, each in a listener of its own: "ok", or the reason it prints. */
async function validate(configs: readonly RouteConfiguration[]): Promise<string> {
  const bootstrap = {
    node: { id: "test", cluster: "test" },
    // As in every bootstrap of the agent: Envoy's own limit of 100 is too low for everyday patterns.
    layeredRuntime: { layers: [{ name: "regex", staticLayer: { "re2.max_program_size.error_level": 32768 } }] },
    staticResources: { listeners: configs.map((config, index) => listener(config, index)) },
  };
  const path = join(dir, "bootstrap.json");
  await writeFile(path, JSON.stringify(bootstrap));
  const log = await open(join(dir, "envoy.log"), "w");
  const flags = ["--mode", "validate", "-c", path, "-l", "error", "--disable-hot-restart", "--concurrency", "1"];
  const envoy = spawn(envoyPath() ?? "envoy", flags, { cwd: dir, stdio: ["ignore", log.fd, log.fd] });
  const [code] = await once(envoy, "exit");
  await log.close();
  return code === 0 ? "ok" : (await readFile(join(dir, "envoy.log"), "utf8")).replaceAll(/\s+/g, " ");
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

  test("the routes of every captured case", async () => {
    const root = process.env.CONFORMANCE_DIR ?? join(import.meta.dirname, "../../../shared/conformance");
    const cases = existsSync(join(root, "discovery")) ? readGoldenCases(join(root, "discovery")) : [];
    const sidecars = cases.filter(
      ({ node }) => String(node.id).startsWith("sidecar~") && !("GENERATOR" in Object(node.metadata)),
    );
    const configs = sidecars.flatMap(({ configYaml, meshYaml, node, routes }) => {
      const { outbound } = viewOfCase(configYaml, meshYaml, node as never);
      return [...routes.map(({ name }) => String(name)), "http_proxy"].map((name) => generateRoute(outbound, name));
    });
    expect(await validate(configs)).toBe("ok");
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
