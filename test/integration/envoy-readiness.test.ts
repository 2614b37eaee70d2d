import { mkdirSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { connect } from "node:tls";
import { beforeEach, expect, test } from "vitest";
import { createReadiness } from "../../src/base/readiness.ts";
import { generateBootstrap } from "../../src/bootstrap/core/generate-bootstrap.ts";
import { buildNodeDescriptor } from "../../src/bootstrap/core/node-descriptor.ts";
import { createAdminClient } from "../../src/envoy/admin-client.ts";
import { envoyRules } from "../../src/envoy/core/generations.ts";
import { envoyReadinessProbe } from "../../src/envoy/readiness-probe.ts";
import { startEnvoy } from "../../src/envoy/start-envoy.ts";
import { LISTENER_TYPE } from "../../src/xds/type-urls.ts";
import { sidecarInputs } from "../support/bootstrap/bootstrap-inputs.ts";
import { createTestCa } from "../support/certs/test-ca.ts";
import { createWorkFolder, envoyOptions, freePorts, recordingLogger } from "../support/envoy/life.ts";
import { staticBootstrap } from "../support/envoy/static-bootstrap.ts";
import { envoyPath, needs } from "../support/needs.ts";
import { fetchOk } from "../support/net/fetch-answer.ts";
import { startTestStatusServer } from "../support/status/server.ts";
import { until } from "../support/wait/until.ts";
import { startControlPlane } from "../support/xds/control-plane.ts";
import { certificateSecret, trustSecret } from "../support/xds/mesh-resources.ts";
import type { MeshResource } from "../support/xds/resource-script.ts";

beforeEach(needs("envoy"));

/** Envoy with a real sidecar bootstrap, its paths and ports moved to a folder and free ports of this test. */
async function startSidecar(deltaXds: boolean) {
  const [adminPort = 0, statusPort = 0, envoyStatusPort = 0, envoyPrometheusPort = 0, port = 0] = await freePorts(5);
  const work = createWorkFolder();
  const log = recordingLogger();
  const inputs = sidecarInputs({
    nodeIps: ["127.0.0.1"],
    proxyConfig: { configPath: work.folder, proxyAdminPort: adminPort, statusPort },
    agent: { envoyStatusPort, envoyPrometheusPort },
    features: { deltaXds },
  });
  const sdsFolder = join(work.folder, "sds");
  mkdirSync(sdsFolder);
  const text = generateBootstrap(inputs, buildNodeDescriptor(inputs)).text.replaceAll(
    "./var/run/secrets/workload-spiffe-uds",
    sdsFolder,
  );
  // Where Envoy looks for its configuration and for its certificates.
  const sockets = [join(work.folder, "XDS"), join(sdsFolder, "socket")];
  const readiness = createReadiness(log);
  const probe = envoyReadinessProbe({
    admin: createAdminClient({ host: "127.0.0.1", port: adminPort }),
    log,
    rules: envoyRules("master").readiness,
    uptimeMs: () => 352,
  });
  readiness.addCheck("envoy", probe.check);
  const status = await startTestStatusServer(log, { port: statusPort, readiness });
  const envoy = await startEnvoy(
    envoyOptions({
      binaryPath: envoyPath() ?? "",
      log,
      adminPort,
      stdio: work.stdio,
      prepareConfig: async () => ({ path: work.write("envoy-rev.json", text) }),
    }),
  );
  return {
    envoy,
    log,
    readiness,
    probe,
    sockets,
    work,
    port,
    adminPort,
    envoyStatusPort,
    ready: () => statusOf(statusPort),
    readyThroughEnvoy: () => statusOf(envoyStatusPort),
    [Symbol.asyncDispose]: async () => {
      await envoy.stop();
      await status.stop();
      work[Symbol.dispose]();
    },
  };
}

function statusOf(port: number): Promise<{ status: number; body: string }> {
  return new Promise((resolve) => {
    const outgoing = request({ host: "127.0.0.1", port, path: "/healthz/ready", agent: false }, (incoming) => {
      let body = "";
      incoming.on("data", (chunk) => {
        body += chunk;
      });
      incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, body }));
    });
    outgoing.on("error", (error) => resolve({ status: 0, body: error.message }));
    outgoing.end();
  });
}

/** A listener as Envoy's own JSON has it. */
function inboundListener(port: number, adminPort: number): object {
  const document = staticBootstrap({ adminPort, port, body: "from the control plane" }) as {
    static_resources: { listeners: [object] };
  };
  return document.static_resources.listeners[0];
}

const listenerResource = (body: object): MeshResource => ({
  name: String((body as { name?: string }).name),
  type: "envoy.config.listener.v3.Listener",
  body,
});

test.each([true, false])(
  "a sidecar becomes ready once the control plane has answered (delta: %s)",
  async (deltaXds) => {
    await using t = await startSidecar(deltaXds);
    await until("the admin", async () => (await t.ready()).body.includes("config not received"));
    expect(await t.ready()).toEqual({
      status: 503,
      body: "envoy: config not received from XDS server (is Istiod running?): cds updates: 0 successful, 0 rejected; lds updates: 0 successful, 0 rejected\n",
    });
    const ca = await createTestCa();
    const secrets = [certificateSecret("default", await ca.pair(["spiffe://a/b"])), trustSecret("ROOTCA", ca.rootPem)];
    const resources = [listenerResource(inboundListener(t.port, t.adminPort)), ...secrets];
    await using plane = await startControlPlane({ sockets: t.sockets, resources: () => resources });
    await until("readiness", async () => (await t.ready()).status === 200);
    expect(await fetchOk(`http://127.0.0.1:${t.port}/`)).toBe("from the control plane");
    await until("readiness through Envoy", async () => (await t.readyThroughEnvoy()).status === 200);
    expect(plane.requests.filter((asked) => asked.error !== undefined)).toEqual([]);
    expect(plane.requests[0]).toMatchObject({
      isDelta: deltaXds,
      nodeId: "sidecar~10.0.0.1~p.ns~ns.svc.cluster.local",
    });
    expect(t.log.texts()).toContain("info Readiness succeeded in 352ms");
    expect(t.log.texts()).toContain("info Envoy proxy is ready");
    t.readiness.take("draining");
    expect(await t.ready()).toEqual({ status: 503, body: "draining\n" });
    await until("503 through Envoy", async () => (await t.readyThroughEnvoy()).status === 503);
  },
);

test("a refused configuration keeps it from being ready and says so; the repaired one does not", async () => {
  await using t = await startSidecar(true);
  let listener: object = { name: "broken", address: {} };
  await using plane = await startControlPlane({ sockets: t.sockets, resources: () => [listenerResource(listener)] });
  await until("the refusal", async () => (await t.ready()).body.includes("but was rejected"));
  const refusal = plane.requests.find((asked) => asked.typeUrl === LISTENER_TYPE && asked.error !== undefined);
  expect(refusal?.error).toContain("broken");
  listener = inboundListener(t.port, t.adminPort);
  plane.push(LISTENER_TYPE);
  await until("readiness", async () => (await t.ready()).status === 200);
  expect(await fetchOk(`http://127.0.0.1:${t.port}/`)).toBe("from the control plane");
});

test("certificates come over the workload socket", async () => {
  await using t = await startSidecar(true);
  const ca = await createTestCa();
  const sds = {
    name: "default",
    sds_config: {
      api_config_source: {
        api_type: "GRPC",
        transport_api_version: "V3",
        grpc_services: [{ envoy_grpc: { cluster_name: "sds-grpc" } }],
      },
      resource_api_version: "V3",
    },
  };
  const listener = inboundListener(t.port, t.adminPort) as { filter_chains: [object] };
  const transport_socket = {
    name: "envoy.transport_sockets.tls",
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
      common_tls_context: { tls_certificate_sds_secret_configs: [sds] },
    },
  };
  const resources = [
    listenerResource({ ...listener, filter_chains: [{ ...listener.filter_chains[0], transport_socket }] }),
    certificateSecret("default", await ca.pair(["spiffe://a/b"])),
  ];
  await using _plane = await startControlPlane({ sockets: t.sockets, resources: () => resources });
  await until("readiness", async () => (await t.ready()).status === 200);
  const names = await new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port: t.port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().subjectaltname);
      socket.destroy();
    });
    socket.on("error", reject);
  });
  expect(names).toBe("URI:spiffe://a/b");
});
