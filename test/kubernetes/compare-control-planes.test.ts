import { expect, test } from "vitest";
import { main } from "../conformance/control-planes/run.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import type { Manifest } from "../support/kubernetes/apply-objects.ts";
import { controlledObjects } from "../support/kubernetes/controlled-objects.ts";
import { ruleDefinitions } from "../support/kubernetes/rule-definitions.ts";
import { startKubernetes } from "../support/kubernetes/start-kubernetes.ts";
import { sharedPlace } from "../support/shared-place.ts";

const deployment = (name: string, labels: object, container: object): Manifest => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas: 2,
    template: { metadata: { labels }, spec: { containers: [{ name: "app", image: "none", ...container }] } },
  },
});
const service = (name: string, selector: object, ports: readonly object[]): Manifest => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { selector, ports },
});
const rule = (kind: string, name: string, spec: object): Manifest => ({
  apiVersion: "networking.istio.io/v1",
  kind,
  metadata: { name },
  spec,
});
const servers = [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }];
const web = [{ route: [{ destination: { host: "web", subset: "v1" } }] }];

/** A service of two pods behind a gateway. */
const OBJECTS = [
  service("web", { app: "web" }, [{ name: "http", port: 80, targetPort: "web" }]),
  deployment("web", { app: "web", version: "v1" }, { ports: [{ name: "web", containerPort: 8080 }] }),
  deployment("edge", { istio: "ingressgateway" }, { args: ["proxy", "router"] }),
  rule("Gateway", "edge", { selector: { istio: "ingressgateway" }, servers }),
  rule("VirtualService", "web", { hosts: ["web.example"], gateways: ["edge"], http: web }),
  rule("DestinationRule", "web", { host: "web", subsets: [{ name: "v1", labels: { version: "v1" } }] }),
];

const place = sharedPlace(["kubernetes"], async (opened) => {
  const kubernetes = opened.add(await startKubernetes());
  await kubernetes.apply(ruleDefinitions());
  await kubernetes.apply([{ apiVersion: "v1", kind: "Namespace", metadata: { name: "istio-system" } }]);
  await kubernetes.apply(controlledObjects(OBJECTS, "prod"));
  return { kubernetes };
});

async function compared(peerRules: string | undefined): Promise<{ readonly code: number; readonly lines: string[] }> {
  const { kubeconfig } = place().kubernetes;
  const start = (files: Readonly<Record<string, string>>) =>
    startDiscoveryServer({ kubernetes: { kubeconfig, environment: {} }, files });
  await using ours = await start({});
  await using peer = await start(peerRules === undefined ? {} : { "rules.yaml": peerRules });
  const address = ({ ports }: typeof ours) => `127.0.0.1:${ports.grpc}`;
  const lines: string[] = [];
  const words = ["--kubeconfig", kubeconfig, "--ours", address(ours), "--peer", address(peer)];
  const code = await main(words, (line) => lines.push(line));
  return { code, lines };
}

test("control planes that read the same API server tell a sidecar and a gateway the same", async () => {
  const { code, lines } = await compared(undefined);
  expect(lines).toEqual([
    "same router~10.10.0.3~edge-0.prod~prod.svc.cluster.local",
    "same sidecar~10.10.0.1~web-0.prod~prod.svc.cluster.local",
    "2 of 2 proxies are told the same",
  ]);
  expect(code).toBe(0);
});

test("a rule that only one of them has is named with proxy, resource and both values", async () => {
  const spec = { host: "web", trafficPolicy: { loadBalancer: { simple: "RANDOM" } } };
  const extra = { ...rule("DestinationRule", "web", spec), metadata: { name: "web", namespace: "prod" } };
  const { code, lines } = await compared(JSON.stringify(extra));
  expect(code).toBe(1);
  expect(lines).toContain(
    '  clusters[outbound|80||web.prod.svc.cluster.local].lbPolicy: expected "RANDOM", got "LEAST_REQUEST"',
  );
  expect(lines.at(-1)).toBe("0 of 2 proxies are told the same");
});

test("an address that cannot be used is named with what it has to be", async () => {
  const lines: string[] = [];
  const words = ["--kubeconfig", place().kubernetes.kubeconfig, "--ours", "localhost", "--peer", "127.0.0.1:1"];
  expect(await main(words, (line) => lines.push(line))).toBe(2);
  expect(lines.join("\n")).toContain('--ours must be HOST:PORT, not "localhost"');
});
