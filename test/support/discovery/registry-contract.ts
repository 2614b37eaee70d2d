import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../src/mesh-model/endpoint.ts";
import type { RegistryChange, ServiceRegistry } from "../../../src/mesh-model/service-registry.ts";

/** What an adapter and the aggregate of adapters have in common. */
export type RegistryView = Omit<ServiceRegistry, "provider" | "clusterId">;

/** A registry and the way to give its platform an HTTP service of namespace prod, served on one port of each address. */
export interface Platform {
  readonly registry: RegistryView;
  /** Port 80 when none is given. */
  set(name: string, addresses: readonly string[], options?: { readonly port?: number }): void;
  remove(name: string): void;
  /** What addresses serve a service of port 80 on; 8080, unless the platform knows one port only. */
  readonly targetPort?: number;
  /** How the platform calls the service in full. */
  hostname(name: string): string;
}

/** What every registry promises; run once per adapter. Changes of the platform must be visible when `set` and `remove` return. */
export function describeServiceRegistry(adapter: string, start: () => Platform): void {
  describe(`a service registry: ${adapter}`, () => {
    const collect = (registry: RegistryView) => {
      const seen: RegistryChange[] = [];
      registry.subscribe((change) => seen.push(change));
      return seen;
    };
    const addresses = (found: readonly Endpoint[]) =>
      found.map((endpoint) => `${endpoint.addresses[0]}:${endpoint.port}`);

    test("has a service with its endpoints after the platform got it, and says so", () => {
      const { registry, set, hostname, targetPort = 8080 } = start();
      const seen = collect(registry);
      set("web", ["10.0.0.1", "10.0.0.2"]);
      const [service] = registry.services();
      expect(service).toMatchObject({
        hostname: hostname("web"),
        namespace: "prod",
        ports: [{ name: "http", port: 80, protocol: "HTTP" }],
      });
      expect(seen).toEqual([{ updated: [service?.key], deleted: [], endpoints: [] }]);
      expect(registry.service(service?.key ?? "")).toBe(service);
      expect(addresses(registry.endpoints(service?.key ?? ""))).toEqual([
        `10.0.0.1:${targetPort}`,
        `10.0.0.2:${targetPort}`,
      ]);
      expect(registry.synced).toBe(true);
    });

    test("tells endpoint changes apart from service changes, and keeps what did not change", () => {
      const { registry, set } = start();
      set("web", ["10.0.0.1"]);
      set("other", ["10.0.0.9"]);
      const [other, web] = registry.services();
      const others = registry.endpoints(other?.key ?? "");
      const seen = collect(registry);
      set("web", ["10.0.0.1", "10.0.0.3"]);
      expect(seen).toEqual([{ updated: [], deleted: [], endpoints: [web?.key] }]);
      expect(registry.services()[1]).toBe(web);
      expect(registry.endpoints(other?.key ?? "")).toBe(others);
      set("web", ["10.0.0.1", "10.0.0.3"], { port: 81 });
      expect(seen[1]).toEqual({ updated: [web?.key], deleted: [], endpoints: [] });
      set("web", ["10.0.0.1", "10.0.0.3"], { port: 81 });
      expect(seen).toHaveLength(2);
    });

    test("describes each endpoint as it is, with an object that it comes from", () => {
      const { registry, set } = start();
      set("web", ["10.0.0.1", "10.0.0.2"]);
      const key = registry.services()[0]?.key ?? "";
      const described = registry.describeEndpoints?.(key) ?? [];
      expect(described.map(({ endpoint }) => endpoint)).toEqual(registry.endpoints(key));
      for (const { objects } of described) expect(objects).toMatchObject([{ namespace: "prod" }]);
      expect(registry.describeEndpoints?.("nothing")).toEqual([]);
    });

    test("forgets a service that is gone", () => {
      const { registry, set, remove } = start();
      set("web", ["10.0.0.1"]);
      const key = registry.services()[0]?.key ?? "";
      const seen = collect(registry);
      remove("web");
      expect(seen).toEqual([{ updated: [], deleted: [key], endpoints: [] }]);
      expect([registry.services(), registry.service(key), registry.endpoints(key)]).toEqual([[], undefined, []]);
    });

    test("knows what runs at an address, in the proxy's namespace only", () => {
      const { registry, set, targetPort: served = 8080 } = start();
      set("web", ["10.0.0.1"]);
      set("web2", ["10.0.0.1", "10.0.0.2"]);
      const at = (address: string, namespace = "prod") =>
        registry
          .targets({ addresses: [address], namespace })
          .map(({ service, port, targetPort }) => `${service.name} ${port.port} ${targetPort}`);
      expect(at("10.0.0.1")).toEqual([`web 80 ${served}`, `web2 80 ${served}`]);
      expect(at("10.0.0.2")).toEqual([`web2 80 ${served}`]);
      expect(at("10.0.0.1", "dev")).toEqual([]);
      set("web", []);
      expect(at("10.0.0.1")).toEqual([`web2 80 ${served}`]);
    });

    test("returns values that cannot be changed", () => {
      const { registry, set } = start();
      set("web", ["10.0.0.1"]);
      expect(Object.isFrozen(registry.services())).toBe(true);
      expect(Object.isFrozen(registry.services()[0]?.ports)).toBe(true);
      expect(Object.isFrozen(registry.endpoints(registry.services()[0]?.key ?? "")[0])).toBe(true);
    });
  });
}
