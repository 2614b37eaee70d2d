import { describe, expect, test } from "vitest";
import { createTestMesh, type TestNode, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import {
  documents,
  peerAuthentication,
  service,
  type TestObject,
} from "../../../test/support/mesh-model/test-objects.ts";
import { buildAccessPolicies } from "../authz/access-policies.ts";
import { generateInboundClusters } from "../clusters/generate-clusters.ts";
import { generateInboundListeners } from "./inbound.ts";

const own = service({ name: "web", endpoints: [{ address: "10.10.0.11" }] });
const viewOf = (node: TestNode = {}, ...objects: readonly TestObject[]) =>
  createTestMesh(documents(own, ...objects))
    .take()
    .snapshot.view(testNode(node));
const HBONE: TestNode = { metadata: { ENABLE_HBONE: "true" } };
const listenersOf = (view: ReturnType<typeof viewOf>) =>
  generateInboundListeners(view, buildAccessPolicies(view)).listeners;
const named = (view: ReturnType<typeof viewOf>, name: string) => listenersOf(view).find((one) => one.name === name);

describe("tunnels of neighbours without sidecar", () => {
  test.each<{ what: string; node: TestNode; names: readonly string[] }>([
    { what: "says so", node: HBONE, names: ["connect_terminate", "main_internal"] },
    { what: "does not say so", node: {}, names: [] },
    { what: "has no capture", node: { metadata: { ENABLE_HBONE: "true", INTERCEPTION_MODE: "NONE" } }, names: [] },
    { what: "is a gateway", node: { ...HBONE, type: "router" }, names: [] },
  ])("are taken by a proxy that $what: $names", ({ node, names }) => {
    const view = viewOf(node);
    const found = listenersOf(view).map(({ name = "" }) => name);
    expect(found.filter((name) => name === "connect_terminate" || name === "main_internal")).toEqual(names);
    const clusters = generateInboundClusters(view).map(({ name }) => name);
    expect(clusters.includes("main_internal")).toBe(names.length > 0);
  });

  test("end at port 15008, in mutual TLS, and lead to the workload's own addresses alone", () => {
    const listener = named(viewOf(HBONE), "connect_terminate");
    expect(listener?.address).toMatchObject({ socketAddress: { address: "0.0.0.0", portValue: 15_008 } });
    const [chain] = listener?.filterChains ?? [];
    expect(chain?.transportSocket?.typedConfig).toMatchObject({ requireClientCertificate: true });
    expect(chain?.filters?.[0]?.typedConfig).toMatchObject({
      routeConfig: { virtualHosts: [{ domains: ["10.10.0.11:*"], routes: [{ route: { cluster: "main_internal" } }] }] },
    });
  });

  test("carry plain text whatever the mode, and never back to the proxy itself", () => {
    const view = viewOf(HBONE, peerAuthentication("strict", "default", { mtls: { mode: "STRICT" } }));
    const chains = named(view, "main_internal")?.filterChains ?? [];
    expect(chains.every(({ transportSocket }) => transportSocket === undefined)).toBe(true);
    const ports = chains.map(({ filterChainMatch }) => filterChainMatch?.destinationPort);
    expect(ports).toEqual([15_001, 15_006, 15_008, undefined, undefined, 80]);
  });

  test("say who called: rules ask the tunnel, not the connection in it", () => {
    const policy: TestObject = {
      kind: "AuthorizationPolicy",
      name: "a",
      spec: { rules: [{ from: [{ source: { principals: ["cluster.local/ns/a/sa/b"] } }] }] },
    };
    const inner = JSON.stringify(named(viewOf(HBONE, policy), "main_internal"));
    expect(inner).toContain(
      '{"filterState":{"key":"io.istio.peer_principal","stringMatch":{"exact":"spiffe://cluster.local/ns/a/sa/b"}}}',
    );
    expect(inner).not.toContain('"authenticated"');
    expect(JSON.stringify(named(viewOf(HBONE, policy), "virtualInbound"))).toContain('"authenticated"');
  });
});
