import { beforeEach, describe, expect, test } from "vitest";
import { buildAccessPolicies } from "../../src/envoy-config/authz/access-policies.ts";
import { generateInboundListeners } from "../../src/envoy-config/listeners/inbound.ts";
import { generateOutboundListeners } from "../../src/envoy-config/listeners/outbound.ts";
import type { ProxyView } from "../../src/mesh-model/push-snapshot.ts";
import type { Listener } from "../../src/protobuf/gen/envoy/config/listener/v3.ts";
import { EVERY_LISTENER_YAML } from "../support/discovery/every-listener.ts";
import { envoyVerdict } from "../support/envoy/run-envoy.ts";
import { createTestMesh, testNode } from "../support/mesh-model/create-test-mesh.ts";
import { needs } from "../support/needs.ts";

const listenersOf = (view: ProxyView) => [
  ...generateOutboundListeners(view.outbound).listeners,
  ...generateInboundListeners(view, buildAccessPolicies(view)).listeners,
];

describe("a stock Envoy", () => {
  beforeEach(needs("envoy"));

  test.each([
    { mode: "REDIRECT", addresses: "10.10.0.11", meshYaml: "" },
    { mode: "TPROXY", addresses: "10.10.0.11,2001:db8::11", meshYaml: "accessLogFile: /dev/stdout" },
    { mode: "REDIRECT", addresses: "2001:db8::11", meshYaml: "pathNormalization: {normalization: MERGE_SLASHES}" },
    { mode: "NONE", addresses: "10.10.0.11", meshYaml: "proxyHttpPort: 15002\nprotocolDetectionTimeout: 0.1s" },
    {
      mode: "REDIRECT",
      addresses: "10.10.0.11",
      meshYaml: "accessLogFile: /dev/stdout\naccessLogEncoding: JSON\noutboundTrafficPolicy: {mode: REGISTRY_ONLY}",
    },
  ])("accepts every kind of listener: $mode, $addresses, $meshYaml", async ({ mode, addresses, meshYaml }) => {
    const node = testNode({
      labels: { app: "web" },
      metadata: { INSTANCE_IPS: addresses, INTERCEPTION_MODE: mode },
    });
    for (const yaml of EVERY_LISTENER_YAML) {
      const listeners = listenersOf(createTestMesh(yaml, meshYaml).take().snapshot.view(node));
      expect(listeners.length).toBeGreaterThan(3);
      expect(await verdict(listeners)).toBe("ok");
    }
  });

  test("refuses what is wrong, so that its consent means something", async () => {
    const [listener = {}] = listenersOf(createTestMesh(EVERY_LISTENER_YAML[0]).take().snapshot.view(testNode()));
    const chains = listener.filterChains ?? [];
    expect(await verdict([{ ...listener, filterChains: [...chains, ...chains] }])).toContain("same matching rules");
    expect(await verdict([listener, { ...listener, name: "other" }])).toContain("duplicate address");
  });
});

const verdict = (listeners: readonly Listener[]) => envoyVerdict(bootstrap(listeners));

/** With the cluster of the agent's bootstrap that certificates come from. */
function bootstrap(listeners: readonly Listener[]): object {
  const grpc = { envoyGrpc: { clusterName: "sds-grpc" } };
  const http2 = {
    "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
    explicitHttpConfig: { http2ProtocolOptions: {} },
  };
  const typedExtensionProtocolOptions = { "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": http2 };
  return {
    node: { id: "test", cluster: "test" },
    dynamicResources: { adsConfig: { apiType: "GRPC", transportApiVersion: "V3", grpcServices: [grpc] } },
    staticResources: { listeners, clusters: [{ name: "sds-grpc", type: "STATIC", typedExtensionProtocolOptions }] },
  };
}
