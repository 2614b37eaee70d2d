import fc from "fast-check";
import { expect, test } from "vitest";
import { clusterName, parseClusterName, sniOf } from "./cluster-name.ts";

test.each([
  { parts: ["outbound", 80, "", "web.default.svc.cluster.local"], name: "outbound|80||web.default.svc.cluster.local" },
  { parts: ["outbound", 80, "v1", "*.example.com"], name: "outbound|80|v1|*.example.com" },
  { parts: ["inbound", 8080, "", ""], name: "inbound|8080||" },
] as const)("$name is read as it was written", ({ parts, name }) => {
  const [direction, port, subset, host] = parts;
  expect(clusterName(direction, port, subset, host)).toBe(name);
  expect(parseClusterName(name)).toEqual({ direction, port, subset, host });
});

test.each([
  "",
  "PassthroughCluster",
  "outbound|80|web",
  "outbound|080||web",
  "outbound|x||web",
  "outbound|80||web|x",
  "sideways|80||web",
  "outbound|123456||web",
])("%j names no service's cluster", (name) => {
  expect(parseClusterName(name)).toBeUndefined();
});

test("an empty subset leaves its place in the server name", () => {
  expect(sniOf("outbound", 8000, "", "httpbin.default.svc.cluster.local")).toBe(
    "outbound_.8000_._.httpbin.default.svc.cluster.local",
  );
  expect(sniOf("outbound", 8000, "v1", "a.b")).toBe("outbound_.8000_.v1_.a.b");
});

test("any text gives a name or nothing, and a name is written back the same", () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(65535), fc.stringMatching(/^[^|]*$/), (text, port, part) => {
      parseClusterName(text);
      const name = clusterName("outbound", port, part, part);
      const parsed = parseClusterName(name);
      expect(parsed).toEqual({ direction: "outbound", port, subset: part, host: part });
    }),
  );
});
