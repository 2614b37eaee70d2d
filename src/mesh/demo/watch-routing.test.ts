import { afterEach, describe, expect, test } from "vitest";
import { type ControlPlane, type ServedStream, startControlPlane } from "../../../test/support/xds/control-plane.ts";
import { CloseStack } from "../../base/close-stack.ts";
import { encodeMessage, pack } from "../../protobuf/envoy/index.ts";
import { type DiscoveryRequest, discoveryRequest, discoveryResponse } from "../../protobuf/wire/discovery.ts";
import { type Routing, watchRouting } from "./watch-routing.ts";

const TARGET = "prices.default.svc.cluster.local:9000";
const LISTENER = "type.googleapis.com/envoy.config.listener.v3.Listener";
const ROUTES = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration";
const CLUSTER = "type.googleapis.com/envoy.config.cluster.v3.Cluster";
const ENDPOINTS = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";

const opened = new CloseStack();
afterEach(() => opened.close());

async function start() {
  const server: ControlPlane = opened.add(await startControlPlane());
  const ending = new AbortController();
  const routings: Routing[] = [];
  const problems: string[] = [];
  const source = {
    agent: server.address,
    node: { id: "sidecar~1", metadata: { GENERATOR: "grpc" } },
    signal: ending.signal,
    onProblem: (text: string) => void problems.push(text),
  };
  const ended = watchRouting(TARGET, source, (routing) => void routings.push(routing));
  opened.defer(async () => {
    ending.abort();
    await ended;
  });
  return { server, routings, problems, stream: await server.stream(0), ending, ended };
}

const requestsOf = (stream: ServedStream) => stream.requests.map((bytes) => discoveryRequest.decode(bytes));
const namesOf = (stream: ServedStream, typeUrl: string): readonly string[] | undefined =>
  requestsOf(stream).findLast((request: DiscoveryRequest) => request.typeUrl === typeUrl)?.resourceNames;

const listener = encodeMessage("envoy.config.listener.v3.Listener", {
  name: TARGET,
  apiListener: {
    apiListener: pack("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", {
      rds: { routeConfigName: "outbound|9000" },
    }),
  },
});
const routes = (route: object) =>
  encodeMessage("envoy.config.route.v3.RouteConfiguration", {
    name: "outbound|9000",
    virtualHosts: [{ name: "prices", domains: ["*"], routes: [{ match: { prefix: "" }, route }] }],
  });
const cluster = (name: string, peerNames?: readonly string[]) =>
  encodeMessage("envoy.config.cluster.v3.Cluster", {
    name,
    ...(peerNames !== undefined && {
      transportSocket: {
        name: "tls",
        typedConfig: pack("envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", {
          commonTlsContext: {
            combinedValidationContext: {
              defaultValidationContext: { matchSubjectAltNames: peerNames.map((exact) => ({ exact })) },
            },
          },
        }),
      },
    }),
  });
const endpoints = (clusterName: string, ...addresses: readonly string[]) =>
  encodeMessage("envoy.config.endpoint.v3.ClusterLoadAssignment", {
    clusterName,
    endpoints: [
      {
        lbEndpoints: addresses.map((address) => ({
          endpoint: { address: { socketAddress: { address, portValue: 9000 } } },
        })),
      },
    ],
  });

let nonces = 0;
function send(stream: ServedStream, typeUrl: string, ...values: readonly Buffer[]): void {
  nonces += 1;
  const resources = values.map((value) => ({ typeUrl, value }));
  stream.send(discoveryResponse.encode({ typeUrl, versionInfo: "1", nonce: `n${nonces}`, resources }));
}

test("what is asked for follows from what is known, and the whole is reported when nothing is missing", async () => {
  const { stream, routings } = await start();
  await stream.received(1);
  expect(namesOf(stream, LISTENER)).toEqual([TARGET]);
  expect(requestsOf(stream)[0]?.node?.id).toBe("sidecar~1");
  send(stream, LISTENER, listener);
  await expect.poll(() => namesOf(stream, ROUTES)).toEqual(["outbound|9000"]);
  send(stream, ROUTES, routes({ cluster: "v1" }));
  await expect.poll(() => namesOf(stream, ENDPOINTS)).toEqual(["v1"]);
  expect(namesOf(stream, CLUSTER)).toEqual(["v1"]);
  send(stream, CLUSTER, cluster("v1"));
  expect(routings).toEqual([]);
  send(stream, ENDPOINTS, endpoints("v1", "10.0.0.1", "10.0.0.2"));
  await expect
    .poll(() => routings.at(-1))
    .toEqual({
      clusters: [{ weight: 1, endpoints: ["10.0.0.1:9000", "10.0.0.2:9000"], peerNames: undefined }],
    });
});

describe("a client that has everything", () => {
  async function settled(route: object = { cluster: "v1" }) {
    const started = await start();
    const { stream, routings } = started;
    send(stream, LISTENER, listener);
    send(stream, ROUTES, routes(route));
    send(stream, CLUSTER, cluster("v1", ["spiffe://td/ns/default/sa/prices"]), cluster("v2"));
    send(stream, ENDPOINTS, endpoints("v1", "10.0.0.1"), endpoints("v2", "10.0.0.2"));
    await expect.poll(() => routings.length).toBeGreaterThan(0);
    return started;
  }

  test("knows who the servers have to be", async () => {
    const { routings } = await settled();
    expect(routings.at(-1)?.clusters[0]?.peerNames).toEqual(["spiffe://td/ns/default/sa/prices"]);
  });

  test("knows the shares of several clusters", async () => {
    const clusters = [
      { name: "v1", weight: 80 },
      { name: "v2", weight: 20 },
    ];
    const { routings } = await settled({ weightedClusters: { clusters } });
    expect(routings.at(-1)?.clusters.map(({ weight, endpoints: to }) => `${weight} ${to}`)).toEqual([
      "80 10.0.0.1:9000",
      "20 10.0.0.2:9000",
    ]);
  });

  test("hears of new endpoints and of a new route", async () => {
    const { stream, routings } = await settled();
    send(stream, ENDPOINTS, endpoints("v1", "10.0.0.9"));
    await expect.poll(() => routings.at(-1)?.clusters[0]?.endpoints).toEqual(["10.0.0.9:9000"]);
    send(stream, ROUTES, routes({ cluster: "v2" }));
    await expect.poll(() => routings.at(-1)?.clusters[0]?.endpoints).toEqual(["10.0.0.2:9000"]);
    // The client tells its owner before the server has read what it wrote.
    await expect.poll(() => namesOf(stream, CLUSTER)).toEqual(["v2"]);
  });

  test("acknowledges every answer by its nonce", async () => {
    const { stream } = await settled();
    send(stream, CLUSTER, cluster("v1"));
    const last = `n${nonces}`;
    await expect.poll(() => requestsOf(stream).map(({ responseNonce }) => responseNonce)).toContain(last);
  });
});

test("a stream that breaks is opened again and asked from the beginning", async () => {
  const { server, stream, problems } = await start();
  await stream.received(1);
  stream.fail(14, "restarting");
  const second = await server.stream(1);
  await second.received(1);
  expect(namesOf(second, LISTENER)).toEqual([TARGET]);
  expect(problems).toEqual([expect.stringContaining("restarting")]);
});

test("the end of the owner ends the watching, which is not a problem", async () => {
  const { stream, ending, ended, problems } = await start();
  await stream.received(1);
  ending.abort();
  await ended;
  await stream.closed;
  expect(problems).toEqual([]);
});
