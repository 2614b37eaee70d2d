import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { GoldenCase } from "../test/conformance/discovery/golden-cases.ts";
import { unsupportedParts } from "../test/conformance/discovery/unsupported.ts";
import { discoveryCases, goldenPath, needsGoldenData } from "../test/conformance/golden-data.ts";
import { createFabric } from "../test/support/discovery/fabric.ts";
import { startDiscoveryProcess } from "../test/support/discovery/process.ts";
import { documents, ruleObject, serviceEntry } from "../test/support/discovery/rules.ts";
import { bundleWorkload, startWorkload, type WorkloadProcess } from "../test/support/discovery/workload.ts";
import { discoveryBootstrap } from "../test/support/envoy/discovery-bootstrap.ts";
import { type RunningEnvoy, runEnvoy } from "../test/support/envoy/run-envoy.ts";
import { startAnySecrets } from "../test/support/sds/any-secrets.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { until } from "../test/support/wait/until.ts";

const NEEDS = ["envoy", "root", "netns"] as const;
// Beside the ports of the cases: Envoy runs in the same namespace.
const PORTS = { host: "", http: 18080, grpc: 15010, secureGrpc: 15012, monitoring: 15014 };
// Proxyless clients ask for names that Envoy never asks for.
const isEnvoy = ({ node }: GoldenCase) => (node.metadata as Readonly<Record<string, unknown>>).GENERATOR === undefined;
const cases = discoveryCases().filter((entry) => isEnvoy(entry) && unsupportedParts(entry).length === 0);

const started = sharedPlace(NEEDS, async (opened) => {
  const folder = mkdtempSync(join(tmpdir(), "discovery-envoy-"));
  opened.defer(async () => rmSync(folder, { recursive: true, force: true }));
  const program = opened.add(await bundleWorkload());
  const fabric = opened.add(await createFabric("istiod"));
  const probe = opened.add(startWorkload(fabric.netns, program));
  opened.add(await startAnySecrets(join(folder, "sds")));
  const controlPlane = opened.add(
    await startDiscoveryProcess({
      ports: PORTS,
      files: {},
      wrapper: ["ip", "netns", "exec", fabric.netns.name],
      isReady: async () => (await get(probe, PORTS.http, "/ready")).status === 200,
    }),
  );
  return { fabric, probe, controlPlane, folder };
});

async function get(probe: WorkloadProcess, port: number, path: string) {
  const [answer] = await probe.http({ address: "127.0.0.1", port, host: "localhost", path, fresh: true });
  return answer ?? { status: 0, body: "" };
}

let loads = 0;

/** Makes these the only rules, and waits until the control plane has them. */
async function load(configYaml: string, meshYaml = ""): Promise<void> {
  const { controlPlane, probe } = started();
  loads += 1;
  // An object that means nothing to any proxy.
  const marker = ruleObject("networking.istio.io/v1", "WorkloadGroup", `marker-${loads}`, { template: {} });
  controlPlane.writeMesh(meshYaml);
  controlPlane.write("config.yaml", configYaml.trim() === "" ? marker : documents(`${configYaml}\n`, marker));
  await until(async () => {
    const { body } = await get(probe, PORTS.monitoring, "/debug/configz");
    return body.includes(`marker-${loads}`) ? undefined : `not loaded: ${controlPlane.output().slice(-1000)}`;
  });
}

function startEnvoy(node: object, protocol: "sotw" | "delta"): Promise<RunningEnvoy> {
  const { fabric, folder } = started();
  const bootstrap = discoveryBootstrap({ sdsPath: join(folder, "sds"), xdsPort: PORTS.grpc, node, protocol });
  return runEnvoy(bootstrap, { netns: fabric.netns });
}

/** Until Envoy uses exactly these clusters and listeners; what it refused would be missing. */
async function untilHas(
  envoy: RunningEnvoy,
  clusters: readonly string[],
  listeners: readonly string[],
  isFree = (_name: string) => false,
): Promise<void> {
  const wanted = new Set([...clusters, ...listeners]);
  await until(async () => {
    const names = await envoy.activeNames();
    const found = new Set([...names.clusters, ...names.listeners]);
    const missing = [...wanted].filter((name) => !found.has(name) && !isFree(name));
    const extra = [...found].filter((name) => !wanted.has(name) && !isFree(name));
    if (missing.length + extra.length === 0) return undefined;
    return `missing ${missing.slice(0, 5)}, not wanted ${extra.slice(0, 5)}, refused ${await envoy.rejections()}`;
    // A listener whose certificate does not come is in use after 15 s.
  }, 100_000);
}

async function expectNothingRefused(envoy: RunningEnvoy): Promise<void> {
  expect(await envoy.rejections(), envoy.output().slice(-3000)).toEqual([]);
  const metrics = (await get(started().probe, PORTS.monitoring, "/metrics")).body;
  expect(
    metrics.split("\n").filter((line) => /^pilot_(total_xds_rejects|xds_\w+_reject)\b.* [1-9]/.test(line)),
  ).toEqual([]);
}

/**
 * Envoy 1.40 ends with SIGSEGV once in thousands of starts while the secrets of a listener arrive; agents start it again. Resources that it
 * cannot take end the second one too.
 */
async function againIfCrashed(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (thrown) {
    if (!(thrown instanceof Error && thrown.message.includes("Envoy exited (SIGSEGV)"))) throw thrown;
    console.warn(`Envoy crashed and is started again: ${thrown.message.slice(0, 200)}`);
    await run();
  }
}

test("golden cases are there to be shown to Envoy", (context) => {
  needsGoldenData(context, goldenPath("discovery"));
  expect(cases.length).toBeGreaterThan(25);
});

const namesOf = (resources: GoldenCase["clusters"]) => resources.map(({ name }) => String(name));

for (const [index, golden] of cases.entries()) {
  const protocol = index % 2 === 0 ? "sotw" : "delta";
  test(`Envoy accepts everything of ${golden.name} (${protocol})`, async () => {
    await load(golden.configYaml, golden.meshYaml);
    const { udpPorts } = golden.context;
    // A port for UDP alone may have a cluster or none.
    const isFree = (name: string) => name.startsWith("inbound|") && udpPorts.has(Number(name.split("|")[1]));
    await againIfCrashed(async () => {
      await using envoy = await startEnvoy(golden.node, protocol);
      await untilHas(envoy, namesOf(golden.clusters), namesOf(golden.listeners), isFree);
      await expectNothingRefused(envoy);
    });
  });
}

test.each(["sotw", "delta"] as const)("Envoy accepts 500 services (%s)", async (protocol) => {
  const names = Array.from({ length: 500 }, (_, index) => `svc-${index}`);
  const address = (net: string, index: number) => `${net}.${index >> 8}.${index & 255}`;
  const entries = names.map((name, index) =>
    serviceEntry({
      name,
      vip: address("10.96", index),
      ports: [
        { number: 80, name: "http", protocol: "HTTP", targetPort: 8080 },
        { number: 9000 + (index % 50), name: "tcp", protocol: "TCP", targetPort: 9000 },
      ],
      endpoints: [{ address: address("10.20", index), serviceAccount: name }],
    }),
  );
  await load(documents(...entries));
  const id = "sidecar~10.20.0.7~svc-7.default~default.svc.cluster.local";
  await using envoy = await startEnvoy({ id, cluster: "svc-7", metadata: { NAMESPACE: "default" } }, protocol);
  const clusters = names.flatMap((name, index) => [
    `outbound|80||${name}.default.svc.cluster.local`,
    `outbound|${9000 + (index % 50)}||${name}.default.svc.cluster.local`,
  ]);
  const fixed = [
    "BlackHoleCluster",
    "PassthroughCluster",
    "InboundPassthroughCluster",
    "inbound|8080||",
    "inbound|9000||",
  ];
  const listeners = names.map((_, index) => `${address("10.96", index)}_${9000 + (index % 50)}`);
  await untilHas(envoy, [...clusters, ...fixed], [...listeners, "0.0.0.0_80", "virtualOutbound", "virtualInbound"]);
  await expectNothingRefused(envoy);
});
