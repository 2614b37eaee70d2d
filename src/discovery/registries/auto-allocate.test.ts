import fc from "fast-check";
import { expect, test } from "vitest";
import { autoAllocate } from "./create-service-entry-registry.ts";

const service = (namespace: string, hostname: string, extra: object = {}) => {
  return { namespace, hostname, addresses: [], resolution: "DNSLB" as const, ...extra };
};

test.each([
  { key: "default/one.noaddr.example", ipv4: "240.240.43.5", ipv6: "2001:2::f0f0:2b05" },
  { key: "default/two.noaddr.example", ipv4: "240.240.242.238", ipv6: "2001:2::f0f0:f2ee" },
  { key: "prod/tcp.noaddr.example", ipv4: "240.240.138.53", ipv6: "2001:2::f0f0:8a35" },
])("$key gets the addresses that the reference gives it", ({ key, ipv4, ipv6 }) => {
  const [namespace = "", hostname = ""] = key.split("/");
  expect(autoAllocate([service(namespace, hostname)]).get(key)).toEqual({ ipv4, ipv6 });
});

test("services with an address, without resolution or with a wildcard get none; one name gets one address", () => {
  const none = [
    service("a", "x.y", { addresses: ["10.0.0.1"] }),
    service("a", "x.y", { resolution: "Passthrough" }),
    service("a", "*.y"),
  ];
  expect(autoAllocate(none).size).toBe(0);
  expect(autoAllocate([service("a", "x.y"), service("a", "x.y")]).size).toBe(1);
});

test("20,000 names meet often, and still every one has an address of its own that does not end in 0 or 255", () => {
  const services = Array.from({ length: 20_000 }, (_, index) => service("ns", `s${index}.example`));
  const allocated = [...autoAllocate(services).values()];
  expect(allocated).toHaveLength(20_000);
  expect(new Set(allocated.map(({ ipv4 }) => ipv4)).size).toBe(20_000);
  expect(new Set(allocated.map(({ ipv6 }) => ipv6)).size).toBe(20_000);
  expect(allocated.filter(({ ipv4 }) => /\.(0|255)$/.test(ipv4))).toEqual([]);
});

test("more names than addresses leave some without, and end", () => {
  const services = Array.from({ length: 66_000 }, (_, index) => service("ns", `s${index}.example`));
  expect(autoAllocate(services).size).toBeGreaterThan(64_000);
});

test("a name alone in its slot has the same address regardless of what else there is", () => {
  const name = fc.stringMatching(/^[a-z]{1,8}$/);
  fc.assert(
    fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 5 }), (names) => {
      const together = autoAllocate(names.map((host) => service("ns", host)));
      for (const { ipv4 } of together.values()) expect(ipv4).toMatch(/^240\.240\.\d+\.\d+$/);
      expect(autoAllocate(names.map((host) => service("ns", host)))).toEqual(together);
    }),
  );
});
