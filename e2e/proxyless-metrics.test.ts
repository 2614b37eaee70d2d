import { chmodSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { type DiscoveryMesh, startDiscoveryMesh } from "../test/support/discovery/mesh.ts";
import { documents, hostOf, peerAuthentication, ruleObject, serviceEntry } from "../test/support/discovery/rules.ts";
import { temporaryFolder } from "../test/support/files/temporary-folder.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { expectPromtoolAccepts } from "../test/support/status/document.ts";
import { seriesOf } from "../test/support/telemetry/read-metrics.ts";
import { until } from "../test/support/wait/until.ts";

const PORTS = [{ number: 7070, name: "grpc", protocol: "GRPC", targetPort: 7070 }];
const ADDRESSES = { front: "10.10.1.1", echo: "10.10.2.1", web: "10.10.2.2" } as const;
type Name = keyof typeof ADDRESSES;
const METRICS_PORT = "9464";
const labelsOf = (name: Name) => ({ app: name, version: "v1", "service.istio.io/workload-name": `${name}-v1` });
const principalOf = (name: Name) => `spiffe://cluster.local/ns/default/sa/${name}`;

const service = (name: Name, vip: string) =>
  serviceEntry({
    name,
    vip,
    ports: PORTS,
    endpoints: [{ address: ADDRESSES[name], serviceAccount: name, labels: labelsOf(name) }],
  });
const mutual = (name: Name) =>
  ruleObject("networking.istio.io/v1", "DestinationRule", name, {
    host: hostOf(name),
    trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } },
  });

/** Two programs without a sidecar, one of them a client, and a server behind one. */
const started = sharedPlace(["envoy", "root", "netns", "iptables", "setpriv", "promtool"], async (opened) => {
  const folder = (name: Name) => {
    const made = temporaryFolder();
    opened.add({ [Symbol.asyncDispose]: async () => made[Symbol.dispose]() });
    chmodSync(made.path, 0o777);
    return { name, xdsFolder: made.path };
  };
  const programs = [folder("front"), folder("echo")];
  const common = (name: Name) => ({
    name,
    address: ADDRESSES[name],
    labels: labelsOf(name),
    env: { ISTIO_META_WORKLOAD_NAME: `${name}-v1`, ISTIO_PROMETHEUS_ANNOTATIONS: `{"port":"${METRICS_PORT}"}` },
  });
  const mesh = opened.add(
    await startDiscoveryMesh({
      files: {
        "services.yaml": documents(service("echo", "10.96.0.10"), service("web", "10.96.0.11")),
        // A proxyless server speaks TLS only where nothing else is allowed.
        "rules.yaml": documents(
          mutual("echo"),
          mutual("web"),
          peerAuthentication("default", { mtls: { mode: "STRICT" } }),
        ),
      },
      mesh: JSON.stringify({
        defaultProviders: { metrics: ["prometheus"] },
        extensionProviders: [{ name: "prometheus", prometheus: {} }],
      }),
      workloads: [
        ...programs.map(({ name, xdsFolder }) => ({ ...common(name), xdsFolder })),
        { ...common("web"), env: { ISTIO_META_WORKLOAD_NAME: "web-v1" } },
      ],
    }),
  );
  await mesh.workload("web").listen({ kind: "grpc", port: 7070, name: "web" });
  for (const { name, xdsFolder } of programs) opened.add(startProgram(mesh, name, xdsFolder));
  return mesh;
});

function startProgram(mesh: DiscoveryMesh, name: Name, xdsFolder: string): AsyncDisposable {
  const child = mesh
    .workload(name)
    .netns.spawn(process.execPath, [resolve(import.meta.dirname, "../test/support/grpc/counted-program.mjs")], {
      GRPC_XDS_BOOTSTRAP: `${xdsFolder}/grpc-bootstrap.json`,
      METRICS_PORT,
      ...(name === "echo" && { SERVE_ADDRESS: `${ADDRESSES.echo}:7070`, SERVICE: hostOf("echo") }),
    });
  const gone = new Promise((done) => child.once("exit", done));
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}

async function get(name: Name, port: number, path: string): Promise<string> {
  const [answer] = await started()
    .workload(name)
    .http({ address: "127.0.0.1", port, host: "localhost", path, fresh: true });
  return answer?.body || (answer?.error ?? "");
}

const metricsOf = (name: Name) => get(name, 15020, "/stats/prometheus");
const requestsOf = async (name: Name) => seriesOf(await metricsOf(name), "istio_requests_total");

const callUntilAnswered = (to: Name) =>
  until(async () => {
    const target = encodeURIComponent(`xds:///${hostOf(to)}:7070`);
    const answer = await get("front", Number(METRICS_PORT), `/call?target=${target}`);
    return /^(echo|.*web)/.test(answer) && !answer.startsWith("failed") ? undefined : answer;
  }, 40_000);

const common = (to: Name) => ({
  source_workload: "front-v1",
  source_workload_namespace: "default",
  source_app: "front",
  source_version: "v1",
  source_cluster: "Kubernetes",
  source_principal: principalOf("front"),
  destination_service: hostOf(to),
  destination_service_name: to,
  destination_service_namespace: "default",
  destination_principal: principalOf(to),
  destination_workload_namespace: "default",
  request_protocol: "grpc",
  response_code: "200",
  grpc_response_status: "0",
});

test("a proxyless client and a proxyless server count their calls, and their agents serve it with the application's metrics", async () => {
  await callUntilAnswered("echo");
  const both = { ...common("echo"), destination_workload: "echo-v1", destination_app: "echo" };
  // An end counts a call a moment after the caller has its answer.
  await expect
    .poll(() => requestsOf("front"))
    .toContainEqual(expect.objectContaining({ ...both, reporter: "source", connection_security_policy: "unknown" }));
  await expect
    .poll(() => requestsOf("echo"))
    .toContainEqual(
      expect.objectContaining({ ...both, reporter: "destination", connection_security_policy: "mutual_tls" }),
    );
  const [atFront, atEcho] = [await metricsOf("front"), await metricsOf("echo")];
  for (const text of [atFront, atEcho]) {
    expect(text).toMatch(/^orders_total 7$/m);
    expect(text).toMatch(/^istio_request_duration_milliseconds_bucket\{.*le="\+Inf"\} [1-9]/m);
    expect(text).toMatch(/^istio_request_messages_total\{/m);
    expect(text).toMatch(/^istio_agent_scrapes_total/m);
    await expectPromtoolAccepts(text);
  }
  expect(await started().rejections()).toEqual([]);
});

test("a server with a sidecar knows a proxyless client, and the client what the certificate tells of the server", async () => {
  await callUntilAnswered("web");
  const both = common("web");
  await expect
    .poll(() => requestsOf("front"))
    .toContainEqual(expect.objectContaining({ ...both, reporter: "source", destination_workload: "unknown" }));
  await expect
    .poll(() => requestsOf("web"))
    .toContainEqual(
      expect.objectContaining({
        ...both,
        reporter: "destination",
        destination_workload: "web-v1",
        connection_security_policy: "mutual_tls",
      }),
    );
});
