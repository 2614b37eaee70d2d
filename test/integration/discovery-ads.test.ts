import { afterEach, describe, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { decodeMessage } from "../../src/protobuf/envoy/index.ts";
import { any } from "../../src/protobuf/wire/discovery.ts";
import { type DiscoveryServer, startDiscoveryServer } from "../support/discovery/server.ts";
import {
  type AdsClientOptions,
  type DeltaStream,
  type Library,
  openDelta,
  openSotw,
  type SotwStream,
  testNode,
  URLS,
} from "../support/xds/ads-client.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

function service(name: string, addresses: readonly string[], vip = "10.96.0.1"): string {
  return `${JSON.stringify({
    apiVersion: "networking.istio.io/v1",
    kind: "ServiceEntry",
    metadata: { name, namespace: "default", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: {
      hosts: [`${name}.example`],
      addresses: [vip],
      location: "MESH_INTERNAL",
      resolution: "STATIC",
      ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: 8080 }],
      endpoints: addresses.map((address) => ({ address, serviceAccount: name })),
    },
  })}\n`;
}

const clusterOf = (name: string) => `outbound|80||${name}.example`;

async function start(files: Readonly<Record<string, string>>): Promise<DiscoveryServer> {
  return opened.add(await startDiscoveryServer({ files }));
}

const sotw = (options: AdsClientOptions): SotwStream => opened.add(openSotw(options));
const delta = (options: AdsClientOptions): DeltaStream => opened.add(openDelta(options));

/** Names in an answer of clusters or assignments. */
function namesOf(resources: SotwStream["responses"][number]["resources"], kind: "CDS" | "EDS" = "CDS"): string[] {
  return resources.map(({ value }) => {
    const bytes = Buffer.from(value ?? []);
    if (kind === "CDS") return decodeMessage("envoy.config.cluster.v3.Cluster", bytes).name ?? "";
    return decodeMessage("envoy.config.endpoint.v3.ClusterLoadAssignment", bytes).clusterName ?? "";
  });
}

describe.each<Library>(["ours", "grpc-js"])("state of the world, client library %s", (library) => {
  const begin = async (files: Readonly<Record<string, string>>) => {
    const server = await start(files);
    const stream = sotw({ port: server.ports.grpc, library });
    stream.send({ node: testNode(), typeUrl: URLS.CDS });
    const clusters = await stream.next();
    return { server, stream, clusters };
  };
  const ack = (
    stream: SotwStream,
    { typeUrl, nonce, versionInfo }: SotwStream["responses"][number],
    names: string[] = [],
  ) => stream.send({ typeUrl, responseNonce: nonce, versionInfo, resourceNames: names });

  test("the first request gets all clusters, an acknowledgement nothing", async () => {
    const { stream, clusters } = await begin({ "a.yaml": service("a", ["10.0.0.1"]) });
    expect(clusters.typeUrl).toBe(URLS.CDS);
    expect(namesOf(clusters.resources)).toEqual(expect.arrayContaining([clusterOf("a"), "PassthroughCluster"]));
    ack(stream, clusters);
    stream.send({ typeUrl: URLS.LDS });
    expect((await stream.next()).typeUrl).toBe(URLS.LDS);
    expect(stream.responses).toHaveLength(2);
  });

  test("names that nothing is known of are answered with empty assignments", async () => {
    const { stream } = await begin({ "a.yaml": service("a", ["10.0.0.1"]) });
    stream.send({ typeUrl: URLS.EDS, resourceNames: [clusterOf("a"), clusterOf("nobody")] });
    const { resources } = await stream.next();
    expect(namesOf(resources, "EDS").sort()).toEqual([clusterOf("a"), clusterOf("nobody")]);
  });

  test("extensions that no one has are answered with none, so that no one waits for them", async () => {
    const { stream } = await begin({});
    const typeUrl = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig";
    stream.send({ typeUrl, resourceNames: ["x"] });
    expect(await stream.next()).toMatchObject({ typeUrl, resources: [] });
  });

  test("an added name is answered alone", async () => {
    const { stream } = await begin({ "a.yaml": service("a", ["10.0.0.1"]), "b.yaml": service("b", ["10.0.0.2"]) });
    stream.send({ typeUrl: URLS.EDS, resourceNames: [clusterOf("a")] });
    const first = await stream.next();
    ack(stream, first, [clusterOf("a"), clusterOf("b")]);
    expect(namesOf((await stream.next()).resources, "EDS")).toEqual([clusterOf("b")]);
  });

  test("a change of endpoints sends only the assignment that changed", async () => {
    const { server, stream, clusters } = await begin({
      "a.yaml": service("a", ["10.0.0.1"]),
      "b.yaml": service("b", ["10.0.0.2"]),
    });
    ack(stream, clusters);
    stream.send({ typeUrl: URLS.EDS, resourceNames: [clusterOf("a"), clusterOf("b")] });
    ack(stream, await stream.next(), [clusterOf("a"), clusterOf("b")]);
    stream.send({ typeUrl: URLS.LDS });
    await stream.next();
    server.write("b.yaml", service("b", ["10.0.0.2", "10.0.0.3"]));
    const changed = await stream.next();
    expect(changed.typeUrl).toBe(URLS.EDS);
    expect(namesOf(changed.resources, "EDS")).toEqual([clusterOf("b")]);
    await expect.poll(() => server.discovery.pushes).toBeGreaterThan(1);
    expect(stream.responses).toHaveLength(4);
  });

  test("a new service changes clusters first; a later stale nonce is ignored", async () => {
    const { server, stream, clusters } = await begin({ "a.yaml": service("a", ["10.0.0.1"]) });
    ack(stream, clusters);
    server.write("b.yaml", service("b", ["10.0.0.2"]));
    const changed = await stream.next();
    expect(namesOf(changed.resources)).toContain(clusterOf("b"));
    expect(changed.versionInfo).not.toBe(clusters.versionInfo);
    ack(stream, clusters);
    ack(stream, changed);
    await expect
      .poll(() => server.discovery.connections.all()[0]?.subscriptions.get("CDS")?.nonceAcked)
      .toBe(changed.nonce);
    expect(stream.responses).toHaveLength(2);
  });

  test("a NACK is recorded and shown, and the next change is sent as usual", async () => {
    const { server, stream, clusters } = await begin({ "a.yaml": service("a", ["10.0.0.1"]) });
    const refusal = { code: 3, message: "no such cluster type" };
    stream.send({ typeUrl: URLS.CDS, responseNonce: clusters.nonce, errorDetail: refusal });
    await expect.poll(async () => (await server.get("/debug/syncz")).text()).toContain("no such cluster type");
    expect(await (await server.get("/debug/syncz")).json()).toMatchObject([
      {
        proxy: "web-1.default",
        cluster_sent: clusters.nonce,
        resources: { [URLS.CDS]: { sent: clusters.nonce, status: "ERROR", lastError: refusal.message } },
      },
    ]);
    expect(await (await server.get("/metrics")).text()).toContain('pilot_total_xds_rejects{type="cds"} 1');
    server.write("b.yaml", service("b", ["10.0.0.2"]));
    const fixed = await stream.next();
    expect(fixed.nonce).not.toBe(clusters.nonce);
    ack(stream, fixed);
    await expect.poll(async () => (await server.get("/debug/syncz")).text()).not.toContain("no such cluster type");
  });

  test("a file that says the same again sends nothing", async () => {
    const { server, stream, clusters } = await begin({ "a.yaml": service("a", ["10.0.0.1"]) });
    ack(stream, clusters);
    server.write("a.yaml", `# a comment\n${service("a", ["10.0.0.1"])}`);
    server.write("b.yaml", service("b", ["10.0.0.2"]));
    const { resources } = await stream.next();
    expect(namesOf(resources)).toContain(clusterOf("b"));
    expect(stream.responses).toHaveLength(2);
  });

  test("a cluster that changes is followed by its endpoints, which warm it", async () => {
    const { server, stream, clusters } = await begin({ "a.yaml": service("a", ["10.0.0.1"]) });
    ack(stream, clusters);
    stream.send({ typeUrl: URLS.EDS, resourceNames: [clusterOf("a")] });
    ack(stream, await stream.next(), [clusterOf("a")]);
    const rule = {
      apiVersion: "networking.istio.io/v1",
      kind: "DestinationRule",
      metadata: { name: "a", namespace: "default" },
      spec: { host: "a.example", trafficPolicy: { connectionPool: { tcp: { maxConnections: 7 } } } },
    };
    server.write("rule.yaml", JSON.stringify(rule));
    expect((await stream.next()).typeUrl).toBe(URLS.CDS);
    const endpoints = await stream.next();
    expect(endpoints.typeUrl).toBe(URLS.EDS);
    expect(namesOf(endpoints.resources, "EDS")).toEqual([clusterOf("a")]);
  });

  test("a reconnect with the nonce of another stream gets everything", async () => {
    const { server, clusters } = await begin({ "a.yaml": service("a", ["10.0.0.1"]) });
    const second = sotw({ port: server.ports.grpc, library });
    second.send({
      node: testNode(),
      typeUrl: URLS.CDS,
      responseNonce: "of-another",
      versionInfo: clusters.versionInfo,
    });
    const again = await second.next();
    expect(again.versionInfo).toBe(clusters.versionInfo);
    expect(namesOf(again.resources).sort()).toEqual(namesOf(clusters.resources).sort());
  });

  test.each([
    { node: undefined, says: "missing node information" },
    { node: testNode({ id: "" }), says: "missing node information" },
    { node: testNode({ id: "sidecar~10.0.0.1~x" }), says: "missing parts in the service node" },
    { node: testNode({ id: "sidecar~none~x~y", metadata: {} }), says: "no valid IP address" },
    {
      node: testNode({ id: "router2~10.0.0.1~x~y" }),
      says: 'invalid node type (valid types: [sidecar router]) in the service node "router2~10.0.0.1~x~y"',
    },
  ])("a stream that begins without a usable node ends: $says", async ({ node, says }) => {
    const server = await start({});
    const stream = sotw({ port: server.ports.grpc, library });
    stream.send(node === undefined ? { typeUrl: URLS.CDS } : { node, typeUrl: URLS.CDS });
    const end = await stream.ended;
    expect(end.code).toBe("INVALID_ARGUMENT");
    expect(end.message).toContain(says);
  });
});

describe.each<Library>(["ours", "grpc-js"])("incremental, client library %s", (library) => {
  const begin = async (files: Readonly<Record<string, string>>, held = new Map<string, string>()) => {
    const server = await start(files);
    const stream = delta({ port: server.ports.grpc, library });
    stream.send({ node: testNode(), typeUrl: URLS.CDS, resourceNamesSubscribe: ["*"], initialResourceVersions: held });
    return { server, stream, clusters: await stream.next() };
  };

  test("a deleted service is removed and nothing else is sent", async () => {
    const { server, stream, clusters } = await begin({
      "a.yaml": service("a", ["10.0.0.1"]),
      "gone.yaml": service("gone", ["10.0.0.2"]),
    });
    expect(clusters.resources.map(({ name }) => name)).toContain(clusterOf("gone"));
    stream.send({ typeUrl: URLS.CDS, responseNonce: clusters.nonce });
    server.write("gone.yaml", undefined);
    const removal = await stream.next();
    expect(removal.removedResources).toEqual([clusterOf("gone")]);
    expect(removal.resources).toEqual([]);
  });

  test("a reconnect is sent only what differs from what it holds", async () => {
    const files = { "a.yaml": service("a", ["10.0.0.1"]), "b.yaml": service("b", ["10.0.0.2"]) };
    const { server, clusters } = await begin(files);
    const held = new Map(clusters.resources.map(({ name = "", version = "" }) => [name, version]));
    const stream = delta({ port: server.ports.grpc, library });
    stream.send({
      node: testNode(),
      typeUrl: URLS.CDS,
      initialResourceVersions: new Map([...held, [clusterOf("b"), "older"], [clusterOf("gone"), "1"]]),
    });
    const again = await stream.next();
    expect(again.resources.map(({ name }) => name)).toEqual([clusterOf("b")]);
    expect(again.removedResources).toEqual([clusterOf("gone")]);
  });

  test("versions survive a restart of the server: nothing is sent again", async () => {
    const { server, clusters } = await begin({ "a.yaml": service("a", ["10.0.0.1"]) });
    const root = server.discovery.rootPem;
    await server.restart();
    expect(server.discovery.rootPem).toBe(root);
    const stream = delta({ port: server.ports.grpc, library });
    const held = new Map(clusters.resources.map(({ name = "", version = "" }) => [name, version]));
    stream.send({ node: testNode(), typeUrl: URLS.CDS, initialResourceVersions: held });
    const again = await stream.next();
    expect(again.resources).toEqual([]);
    expect(again.removedResources).toEqual([]);
  });

  test("subscriptions grow, shrink and count even with a stale nonce", async () => {
    const { stream } = await begin({ "a.yaml": service("a", ["10.0.0.1"]), "b.yaml": service("b", ["10.0.0.2"]) });
    stream.send({ typeUrl: URLS.EDS, resourceNamesSubscribe: [clusterOf("a")] });
    expect((await stream.next()).resources.map(({ name }) => name)).toEqual([clusterOf("a")]);
    stream.send({ typeUrl: URLS.EDS, resourceNamesSubscribe: [clusterOf("b")], responseNonce: "stale" });
    expect((await stream.next()).resources.map(({ name }) => name)).toEqual([clusterOf("b")]);
    stream.send({ typeUrl: URLS.EDS, resourceNamesUnsubscribe: [clusterOf("b")] });
    stream.send({ typeUrl: URLS.EDS, resourceNamesSubscribe: [clusterOf("unknown")] });
    const { resources } = await stream.next();
    expect(resources.map(({ name }) => name)).toEqual([clusterOf("unknown")]);
  });

  test("a change of endpoints sends one assignment", async () => {
    const { server, stream, clusters } = await begin({ "a.yaml": service("a", ["10.0.0.1"]) });
    stream.send({ typeUrl: URLS.CDS, responseNonce: clusters.nonce });
    stream.send({ typeUrl: URLS.EDS, resourceNamesSubscribe: [clusterOf("a")] });
    await stream.next();
    server.write("a.yaml", service("a", ["10.0.0.1", "10.0.0.9"]));
    const changed = await stream.next();
    expect(changed.typeUrl).toBe(URLS.EDS);
    expect(changed.resources.map(({ name }) => name)).toEqual([clusterOf("a")]);
    expect(stream.responses).toHaveLength(3);
  });
});

test("both protocols give the same resources for one node", async () => {
  const server = await start({ "a.yaml": service("a", ["10.10.0.11"]), "b.yaml": service("b", ["10.0.0.2"]) });
  const whole = sotw({ port: server.ports.grpc });
  const incremental = delta({ port: server.ports.grpc });
  for (const type of ["CDS", "LDS"] as const) {
    whole.send({ node: testNode(), typeUrl: URLS[type] });
    incremental.send({ node: testNode(), typeUrl: URLS[type] });
    const first = (await whole.next()).resources.map((resource) => any.encode(resource).toString("base64"));
    const second = (await incremental.next()).resources.map(({ resource }) =>
      any.encode(resource ?? {}).toString("base64"),
    );
    expect(second.sort()).toEqual(first.sort());
    expect(first.length).toBeGreaterThan(2);
  }
});
