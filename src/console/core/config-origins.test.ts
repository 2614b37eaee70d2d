import { expect, test } from "vitest";
import { createConfigOrigins } from "./config-origins.ts";

const origin = (kind: string, name: string) => ({ kind, namespace: "shop", name });
const HOST = "reviews.shop.svc.cluster.local:9080";

const origins = createConfigOrigins(
  [
    { type: "cds", name: "outbound|9080||reviews", origins: [origin("ServiceEntry", "reviews")], parts: [] },
    {
      type: "eds",
      name: "outbound|9080||reviews",
      origins: [],
      parts: [
        {
          kind: "endpoint",
          name: "10.0.0.2:9080",
          origins: [
            { ...origin("Pod", "reviews-1"), cluster: "c1", resourceVersion: "7" },
            { ...origin("WorkloadEntry", "vm"), file: "vm.yaml", line: 3 },
          ],
        },
      ],
    },
    {
      type: "cds",
      name: "outbound|80||outside",
      origins: [],
      parts: [{ kind: "endpoint", name: "example.com:80", origins: [origin("ServiceEntry", "outside")] }],
    },
    {
      type: "lds",
      name: "virtualInbound",
      origins: [],
      parts: [
        { kind: "mutual TLS", name: "port 9080", origins: [origin("PeerAuthentication", "default")] },
        { kind: "filter chain", name: "port 9080", origins: [] },
      ],
    },
    {
      type: "rds",
      name: "9080",
      origins: [],
      parts: [
        { kind: "virtual host", name: HOST, origins: [origin("VirtualService", "reviews")] },
        { kind: "route", name: `${HOST} 1`, origins: [origin("VirtualService", "first")] },
        { kind: "route", name: `${HOST} 10 (canary)`, origins: [origin("VirtualService", "canary")] },
      ],
    },
  ],
  [{ ...origin("VirtualService", "canary"), source: { file: "rules.yaml", line: 12 } }],
);

test("origins are found by cluster, listener part, virtual host and place of the rule", () => {
  expect(origins.cluster("outbound|9080||reviews")).toEqual([
    { ...origin("ServiceEntry", "reviews"), isListed: false },
  ]);
  expect(origins.listenerParts("virtualInbound").map(({ text }) => text)).toEqual(["mutual TLS port 9080"]);
  expect(origins.host("9080", HOST)).toMatchObject([{ name: "reviews" }]);
  expect(origins.rule("9080", HOST, 1)).toMatchObject([{ name: "first" }]);
});

test("an object that is listed can be opened, and says where its user has written it", () => {
  const source = { file: "rules.yaml", line: 12 };
  expect(origins.rule("9080", HOST, 10)).toEqual([{ ...origin("VirtualService", "canary"), isListed: true, source }]);
});

test("origins of endpoints say in which cluster and version, or in which file, an object is", () => {
  expect(origins.endpoint("outbound|9080||reviews", "10.0.0.2:9080")).toEqual([
    { ...origin("Pod", "reviews-1"), cluster: "c1", resourceVersion: "7", isListed: false },
    { ...origin("WorkloadEntry", "vm"), source: { file: "vm.yaml", line: 3 }, isListed: false },
  ]);
  expect(origins.endpoint("outbound|80||outside", "example.com:80")).toMatchObject([{ name: "outside" }]);
  expect(origins.endpoint("outbound|9080||reviews", "10.0.0.9:9080")).toEqual([]);
});

test("what nobody has explained has no origin", () => {
  expect(origins.cluster("outbound|80||gone")).toEqual([]);
  expect(origins.rule("9080", HOST, 0)).toEqual([]);
  expect(origins.rule("80", HOST, 1)).toEqual([]);
});
