import { expect, test } from "vitest";
import { createTestMesh, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { generateInboundClusters } from "./generate-clusters.ts";

const clustersOf = (meshYaml: string, type: "sidecar" | "router" = "sidecar") => {
  const view = createTestMesh("", meshYaml).take().snapshot.view(testNode({ type }));
  const found = generateInboundClusters(view).find(({ name }) => name === "AllowAnyDynamicDNSCluster");
  return found === undefined ? undefined : JSON.parse(JSON.stringify(found));
};

test("the cluster for unknown hosts is there where they are looked up, for sidecars alone", () => {
  expect(clustersOf("")).toBeUndefined();
  expect(clustersOf("outboundTrafficPolicy: {mode: ALLOW_ANY_DYNAMIC_DNS}", "router")).toBeUndefined();
  expect(clustersOf("outboundTrafficPolicy: {mode: ALLOW_ANY_DYNAMIC_DNS}")).toMatchObject({
    lbPolicy: "CLUSTER_PROVIDED",
    clusterType: {
      name: "envoy.clusters.dynamic_forward_proxy",
      // Without TLS there is no name to prove.
      typedConfig: { allowInsecureClusterOptions: true, dnsCacheConfig: { dnsLookupFamily: "V4_ONLY" } },
    },
  });
});

test("its TLS asks for the name that is called, and for its proof", () => {
  const cluster = clustersOf("outboundTrafficPolicy: {mode: ALLOW_ANY_DYNAMIC_DNS, tls: {mode: SIMPLE}}");
  expect(cluster.transportSocket.name).toBe("envoy.transport_sockets.tls");
  expect(JSON.stringify(cluster)).toContain('"autoSni":true,"autoSanValidation":true');
  expect(JSON.stringify(cluster)).not.toContain("allowInsecureClusterOptions");
});
