import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import * as grpc from "@grpc/grpc-js";
import { beforeEach, expect, test } from "vitest";
import { startAgentProcess } from "../test/support/agent/agent-process.ts";
import { needs } from "../test/support/needs.ts";
import { type MeshResource, startMeshControlPlane } from "../test/support/xds/mesh-control-plane.ts";

beforeEach(needs("openssl"));

const HOST = "echo.ns.svc.cluster.local:7070";
const TYPES = "type.googleapis.com/envoy.extensions";

/** What a control plane generates for a proxyless client that asks for one service. */
function resources(port: number, serverIdentity: string | undefined): MeshResource[] {
  const cluster = "outbound|7070||echo.ns.svc.cluster.local";
  const ads = { ads: {}, resource_api_version: "V3" };
  const manager = {
    "@type": `${TYPES}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    rds: { config_source: ads, route_config_name: cluster },
    http_filters: [{ name: "router", typed_config: { "@type": `${TYPES}.filters.http.router.v3.Router` } }],
  };
  const tls = {
    "@type": `${TYPES}.transport_sockets.tls.v3.UpstreamTlsContext`,
    common_tls_context: {
      tls_certificate_provider_instance: { instance_name: "default", certificate_name: "default" },
      combined_validation_context: {
        default_validation_context: {
          ca_certificate_provider_instance: { instance_name: "default", certificate_name: "ROOTCA" },
          match_subject_alt_names: [{ exact: serverIdentity }],
        },
      },
    },
  };
  const route = { match: { prefix: "" }, route: { cluster } };
  return [
    {
      name: HOST,
      type: "envoy.config.listener.v3.Listener",
      body: { name: HOST, api_listener: { api_listener: manager } },
    },
    {
      name: cluster,
      type: "envoy.config.route.v3.RouteConfiguration",
      body: { name: cluster, virtual_hosts: [{ name: HOST, domains: [HOST], routes: [route] }] },
    },
    {
      name: cluster,
      type: "envoy.config.cluster.v3.Cluster",
      body: {
        name: cluster,
        type: "EDS",
        eds_cluster_config: { eds_config: ads, service_name: cluster },
        ...(serverIdentity !== undefined && {
          transport_socket: { name: "envoy.transport_sockets.tls", typed_config: tls },
        }),
      },
    },
    {
      name: cluster,
      type: "envoy.config.endpoint.v3.ClusterLoadAssignment",
      body: {
        cluster_name: cluster,
        endpoints: [
          {
            locality: { region: "r" },
            load_balancing_weight: 1,
            lb_endpoints: [
              {
                endpoint: { address: { socket_address: { address: "127.0.0.1", port_value: port } } },
                health_status: "HEALTHY",
              },
            ],
          },
        ],
      },
    },
  ];
}

/** The sample of the documentation, word for word, in a process of its own. */
async function runSample(bootstrap: string, ...words: string[]): Promise<string> {
  const page = readFileSync(resolve(import.meta.dirname, "../docs/proxyless.md"), "utf8");
  const [, sample = ""] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module", "-e", sample, "--", ...words],
    {
      cwd: resolve(import.meta.dirname, ".."),
      env: { PATH: process.env.PATH, GRPC_XDS_BOOTSTRAP: bootstrap },
      timeout: 40_000,
    },
  ).catch((failure: { stdout?: string; stderr?: string }) => ({ stdout: `${failure.stdout}${failure.stderr}` }));
  return stdout;
}

async function startEcho(credentials: grpc.ServerCredentials, peers: string[]) {
  const server = new grpc.Server();
  const say = {
    path: "/demo.Echo/Say",
    requestStream: false,
    responseStream: false,
    requestSerialize: (text: string) => Buffer.from(text),
    requestDeserialize: (bytes: Buffer) => bytes.toString(),
    responseSerialize: (text: string) => Buffer.from(text),
    responseDeserialize: (bytes: Buffer) => bytes.toString(),
  };
  server.addService(
    { say },
    {
      say: (call: grpc.ServerUnaryCall<string, string>, done: grpc.sendUnaryData<string>) => {
        peers.push(call.getAuthContext().sslPeerCertificate?.subjectaltname ?? "");
        done(null, `hello ${call.request}`);
      },
    },
  );
  const port = await new Promise<number>((bound, failed) =>
    server.bindAsync("127.0.0.1:0", credentials, (error, actual) => (error ? failed(error) : bound(actual))),
  );
  return { port, [Symbol.asyncDispose]: async () => server.forceShutdown() };
}

async function startProxyless(controlPlane: Awaited<ReturnType<typeof startMeshControlPlane>>) {
  const folder = mkdtempSync(join(tmpdir(), "proxyless-"));
  const [certs, bootstrap] = [join(folder, "certs"), join(folder, "grpc-bootstrap.json")];
  const agent = await startAgentProcess({
    controlPlane,
    env: { DISABLE_ENVOY: "true", ISTIO_META_GENERATOR: "grpc", OUTPUT_CERTS: certs, GRPC_XDS_BOOTSTRAP: bootstrap },
    proxyConfig: { configPath: join(folder, "proxy") },
  });
  await agent.untilReady();
  return {
    agent,
    bootstrap,
    file: (name: string) => readFileSync(join(certs, name)),
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

test("the documented Node client finds its service through the agent", async () => {
  let port = 0;
  await using controlPlane = await startMeshControlPlane({ resources: () => resources(port, undefined) });
  await using proxyless = await startProxyless(controlPlane);
  await using echo = await startEcho(grpc.ServerCredentials.createInsecure(), []);
  port = echo.port;
  expect(await runSample(proxyless.bootstrap, `xds:///${HOST}`, "world")).toBe("hello world\n");
  // The agent hears of its end a moment later.
  await expect.poll(async () => JSON.parse((await proxyless.agent.get("status", "/debug/xdsz")).body)).toEqual([]);
});

test("several clients at once each have their stream, and none is evicted", async () => {
  let port = 0;
  await using controlPlane = await startMeshControlPlane({ resources: () => resources(port, undefined) });
  await using proxyless = await startProxyless(controlPlane);
  await using echo = await startEcho(grpc.ServerCredentials.createInsecure(), []);
  port = echo.port;
  const names = ["a", "b", "c"];
  const answers = await Promise.all(names.map((name) => runSample(proxyless.bootstrap, `xds:///${HOST}`, name)));
  expect(answers).toEqual(names.map((name) => `hello ${name}\n`));
});

test("mutual TLS with the agent's certificate files: both sides see the other's identity", async () => {
  const identity = "spiffe://cluster.local/ns/ns/sa/app";
  let [port, expected] = [0, identity];
  await using controlPlane = await startMeshControlPlane({ resources: () => resources(port, expected) });
  await using proxyless = await startProxyless(controlPlane);
  const peers: string[] = [];
  const pair = { private_key: proxyless.file("key.pem"), cert_chain: proxyless.file("cert-chain.pem") };
  const credentials = grpc.ServerCredentials.createSsl(proxyless.file("root-cert.pem"), [pair], true);
  await using echo = await startEcho(credentials, peers);
  port = echo.port;
  expect(await runSample(proxyless.bootstrap, `xds:///${HOST}`, "secret world")).toBe("hello secret world\n");
  expect(peers).toEqual([`URI:${identity}`]);
  // A server with another identity than the control plane named is not talked to.
  expected = "spiffe://cluster.local/ns/ns/sa/somebody-else";
  expect(await runSample(proxyless.bootstrap, `xds:///${HOST}`, "world")).toMatch(/^failed: /);
  expect(peers).toHaveLength(1);
});
