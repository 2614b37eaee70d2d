import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { buildAccessPolicies } from "../../src/envoy-config/authz/access-policies.ts";
import { generateInboundListeners } from "../../src/envoy-config/listeners/inbound.ts";
import { generateOutboundListeners } from "../../src/envoy-config/listeners/outbound.ts";
import type { ProxyView } from "../../src/mesh-model/push-snapshot.ts";
import type { Listener } from "../../src/protobuf/gen/envoy/config/listener/v3.ts";
import { readGoldenCases } from "../conformance/discovery/golden-cases.ts";
import { EVERY_LISTENER_YAML } from "../support/discovery/every-listener.ts";
import { createWorkFolder } from "../support/envoy/life.ts";
import { createTestMesh, testNode } from "../support/mesh-model/create-test-mesh.ts";
import { viewOfCase } from "../support/mesh-model/view-of-case.ts";
import { envoyPath, needs } from "../support/needs.ts";

const root = join(process.env.CONFORMANCE_DIR ?? join(import.meta.dirname, "../../../shared/conformance"), "discovery");
/** Those of sidecars. */
const OTHER_NODES = ["gateway-http-and-https", "grpc-proxyless-client"];
const cases = existsSync(root) ? readGoldenCases(root).filter(({ name }) => !OTHER_NODES.includes(name)) : [];
const listenersOf = (view: ProxyView) => [
  ...generateOutboundListeners(view.outbound).listeners,
  ...generateInboundListeners(view, buildAccessPolicies(view)).listeners,
];

describe("a stock Envoy", () => {
  beforeEach(needs("envoy"));

  test("accepts the listeners of every golden case", async () => {
    const verdicts: string[] = [];
    for (const { name, configYaml, meshYaml, node } of cases) {
      const found = await verdict(listenersOf(viewOfCase(configYaml, meshYaml, JSON.stringify(node))));
      verdicts.push(`${name}: ${found}`);
    }
    expect(verdicts).toEqual(cases.map(({ name }) => `${name}: ok`));
  });

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

/** "ok", or the reason that Envoy prints. */
async function verdict(listeners: readonly Listener[]): Promise<string> {
  using work = createWorkFolder();
  const file = work.write("bootstrap.json", bootstrap(listeners));
  const flags = ["--mode", "validate", "-c", file, "-l", "error", "--disable-hot-restart"];
  const { stdout, stderr } = work.stdio;
  const envoy = spawn(envoyPath() ?? "envoy", flags, { cwd: work.folder, stdio: ["ignore", stdout, stderr] });
  const [code] = await once(envoy, "exit");
  return code === 0 ? "ok" : work.stderr();
}

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
