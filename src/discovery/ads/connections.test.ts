import { expect, test } from "vitest";
import { MetricRegistry } from "../../base/metric-registry.ts";
import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";
import type { OwnedConnection } from "./connection.ts";
import { createConnections } from "./connections.ts";
import { declareAdsMetrics } from "./metrics.ts";

function setUp() {
  const registry = new MetricRegistry();
  const connections = createConnections(declareAdsMetrics(registry));
  const add = (id: string, istioVersion = "") => {
    const node = { id, istioVersion } as ProxyNode;
    const connection = { id: `${id}-${connections.nextNumber()}`, node, ended: () => undefined } as OwnedConnection;
    connections.add(connection);
    return connection;
  };
  const series = () => registry.render().match(/^pilot_xds\{.*$/gm) ?? [];
  return { connections, add, series };
}

test("a proxy is found by the id of a stream, or by its own as its newest stream", () => {
  const { connections, add } = setUp();
  const [first, second] = [add("web"), add("web")];
  expect(connections.find("web-1")).toBe(first);
  expect(connections.find("web")).toBe(second);
  connections.remove(second);
  expect(connections.find("web")).toBe(first);
  expect(connections.find("web-2")).toBeUndefined();
});

test("proxies are counted by version, and a version that no one has is not a series", () => {
  const { connections, add, series } = setUp();
  const both = [add("a", "1.20.3"), add("b", "1.20.3"), add("c", "1.31-dev+x")];
  expect(series()).toEqual(['pilot_xds{version="1.20.3"} 2', 'pilot_xds{version="1.31-dev+x"} 1']);
  for (const connection of both) connections.remove(connection);
  for (const connection of both) connections.remove(connection);
  expect(series()).toEqual([]);
});

test.each(["", "x".repeat(65), "1.2 3", 'a"b', "a\nb", "\u00e9"])("the version %j is unknown", (version) => {
  const { add, series } = setUp();
  add("a", version);
  expect(series()).toEqual(['pilot_xds{version="unknown"} 1']);
});
