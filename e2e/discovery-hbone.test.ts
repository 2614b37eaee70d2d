import { expect, test } from "vitest";
import { startDiscoveryMesh } from "../test/support/discovery/mesh.ts";
import { documents, ruleObject, serviceEntry } from "../test/support/discovery/rules.ts";
import type { Echo } from "../test/support/discovery/workload.ts";
import { sharedPlace } from "../test/support/shared-place.ts";
import { until } from "../test/support/wait/until.ts";

const NEEDS = ["envoy", "root", "netns", "iptables", "setpriv"] as const;
const SERVER = "10.10.2.1";
/** Where the client's Envoy takes what it then sends through a tunnel to the server, to one of its ports or past it. */
const TUNNELS = { http: 19_080, tcp: 19_001, undeclared: 19_099, elsewhere: 19_053 } as const;
const TARGETS: Readonly<Record<keyof typeof TUNNELS, string>> = {
  http: `${SERVER}:8080`,
  tcp: `${SERVER}:9001`,
  undeclared: `${SERVER}:9099`,
  elsewhere: "10.10.1.1:7777",
};

const ENVOY = "type.googleapis.com/envoy";
const secret = (name: string) => ({
  name,
  sds_config: {
    resource_api_version: "V3",
    api_config_source: {
      api_type: "GRPC",
      transport_api_version: "V3",
      grpc_services: [{ envoy_grpc: { cluster_name: "sds-grpc" } }],
    },
  },
});
/** What ztunnel does, by an Envoy: CONNECT over HTTP/2 and the mesh's mutual TLS, to port 15008 of the workload. */
const tunnel = ruleObject("networking.istio.io/v1alpha3", "EnvoyFilter", "tunnel", {
  workloadSelector: { labels: { app: "client" } },
  configPatches: [
    {
      applyTo: "CLUSTER",
      match: { context: "SIDECAR_OUTBOUND" },
      patch: {
        operation: "ADD",
        value: {
          name: "hbone",
          type: "STATIC",
          load_assignment: {
            cluster_name: "hbone",
            endpoints: [
              {
                lb_endpoints: [{ endpoint: { address: { socket_address: { address: SERVER, port_value: 15_008 } } } }],
              },
            ],
          },
          typed_extension_protocol_options: {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
              "@type": `${ENVOY}.extensions.upstreams.http.v3.HttpProtocolOptions`,
              explicit_http_config: { http2_protocol_options: { allow_connect: true } },
            },
          },
          transport_socket: {
            name: "envoy.transport_sockets.tls",
            typed_config: {
              "@type": `${ENVOY}.extensions.transport_sockets.tls.v3.UpstreamTlsContext`,
              common_tls_context: {
                alpn_protocols: ["h2"],
                tls_certificate_sds_secret_configs: [secret("default")],
                validation_context_sds_secret_config: secret("ROOTCA"),
              },
            },
          },
        },
      },
    },
    ...Object.entries(TUNNELS).map(([name, port]) => ({
      applyTo: "LISTENER",
      match: { context: "SIDECAR_OUTBOUND" },
      patch: {
        operation: "ADD",
        value: {
          name: `tunnel-${name}`,
          address: { socket_address: { address: "127.0.0.1", port_value: port } },
          filter_chains: [
            {
              filters: [
                {
                  name: "envoy.filters.network.tcp_proxy",
                  typed_config: {
                    "@type": `${ENVOY}.extensions.filters.network.tcp_proxy.v3.TcpProxy`,
                    stat_prefix: name,
                    cluster: "hbone",
                    tunneling_config: { hostname: TARGETS[name as keyof typeof TUNNELS] },
                  },
                },
              ],
            },
          ],
        },
      },
    })),
  ],
});
const strict = ruleObject("security.istio.io/v1", "PeerAuthentication", "strict", { mtls: { mode: "STRICT" } });
const allow = (account: string) =>
  ruleObject("security.istio.io/v1", "AuthorizationPolicy", "allow", {
    selector: { matchLabels: { app: "server" } },
    rules: [{ from: [{ source: { principals: [`cluster.local/ns/default/sa/${account}`] } }] }],
  });

/** The discovery of peers is an extension of Istio's own Envoy. */
const HBONE = { ISTIO_META_ENABLE_HBONE: "true", PEER_METADATA_DISCOVERY: "false" };

const started = sharedPlace(NEEDS, async (opened) => {
  const server = serviceEntry({
    name: "server",
    vip: "10.96.0.20",
    ports: [
      { number: 80, name: "http", protocol: "HTTP", targetPort: 8080 },
      { number: 9001, name: "tcp", protocol: "TCP", targetPort: 9001 },
    ],
    endpoints: [{ address: SERVER, labels: { app: "server" }, serviceAccount: "server" }],
  });
  const mesh = opened.add(
    await startDiscoveryMesh({
      files: { "services.yaml": documents(server, strict, tunnel), "allow.yaml": allow("client") },
      workloads: [
        { name: "server", address: SERVER, labels: { app: "server" }, env: HBONE },
        { name: "client", address: "10.10.1.1", labels: { app: "client" } },
      ],
    }),
  );
  await mesh.workload("server").listen({ kind: "http", port: 8080, name: "app" });
  await mesh.workload("server").listen({ kind: "tcp", port: 9001, name: "app" });
  await mesh.workload("server").listen({ kind: "http", port: 9099, name: "undeclared" });
  await mesh.workload("client").listen({ kind: "tcp", port: 7777, name: "elsewhere" });
  return mesh;
});

async function get(through: keyof typeof TUNNELS) {
  const request = { address: "127.0.0.1", port: TUNNELS[through], host: "server", path: "/x", fresh: true };
  const [answer] = await started().workload("client").http(request);
  return { status: answer?.status ?? 0, body: answer?.body ?? "" };
}
const untilStatus = (through: keyof typeof TUNNELS, wanted: number) =>
  until(async () => {
    const { status, body } = await get(through);
    return status === wanted ? undefined : `${status} ${body}`;
  });

test("a neighbour without sidecar calls HTTP, bytes and ports of no service through a tunnel", async () => {
  await untilStatus("http", 200);
  expect(JSON.parse((await get("http")).body) as Echo).toMatchObject({ name: "app", path: "/x" });
  const sent = { address: "127.0.0.1", port: TUNNELS.tcp, send: "hello" };
  expect(await started().workload("client").tcp(sent)).toMatchObject({ received: "app hello" });
  await untilStatus("undeclared", 200);
});

test("rules about who calls hold for who made the tunnel", async () => {
  started().controlPlane.write("allow.yaml", allow("other"));
  await untilStatus("http", 403);
  started().controlPlane.write("allow.yaml", allow("client"));
  await untilStatus("http", 200);
});

test("a tunnel to another address than the workload's own leads nowhere", async () => {
  const sent = { address: "127.0.0.1", port: TUNNELS.elsewhere, send: "hello", timeoutMs: 3000 };
  expect(await started().workload("client").tcp(sent)).not.toMatchObject({
    received: expect.stringContaining("elsewhere"),
  });
  expect(await started().workload("server").rejections()).toEqual([]);
});
