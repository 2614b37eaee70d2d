import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import {
  type DiscoveryServer,
  type DiscoveryServerOptions,
  startDiscoveryServer,
} from "../support/discovery/server.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { askAndClose } from "../support/net/ask-and-close.ts";
import { fetchBytes } from "../support/status/scrape.ts";
import { webhookSettings } from "../support/webhooks/settings.ts";
import { openSotw, testNode, URLS } from "../support/xds/ads-client.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const start = async (options: DiscoveryServerOptions = {}): Promise<DiscoveryServer> =>
  opened.add(await startDiscoveryServer(options));

const entry = (name: string, spec: object = {}) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "ServiceEntry",
  metadata: { name, namespace: "default" },
  spec: {
    hosts: [`${name}.example`],
    addresses: ["10.96.0.1"],
    location: "MESH_INTERNAL",
    resolution: "STATIC",
    ports: [{ number: 80, name: "http", protocol: "HTTP" }],
    endpoints: [{ address: "10.10.0.11" }],
    ...spec,
  },
});

async function connected(server: DiscoveryServer) {
  const stream = opened.add(openSotw({ port: server.ports.grpc }));
  const metadata = { NAMESPACE: "default", INSTANCE_IPS: "10.10.0.11", DNS_CAPTURE: "true" };
  stream.send({ node: testNode({ metadata }), typeUrl: URLS.CDS });
  await stream.next();
  stream.send({ typeUrl: URLS.EDS, resourceNames: ["outbound|80||a.example"] });
  await stream.next();
  stream.send({ typeUrl: URLS.RDS, resourceNames: ["80"] });
  await stream.next();
  return stream;
}

describe("readiness and figures", () => {
  test("the server is ready without Kubernetes, and says its version", async () => {
    const server = await start();
    const ready = await server.get("/ready");
    expect([ready.status, await ready.text()]).toEqual([200, "ready\n"]);
    expect(await (await server.get("/version")).text()).toMatch(/^\S+-\S+-\S+\n$/);
    expect((await server.get("/nothing")).status).toBe(404);
  });

  test("a client that closes its half with its request gets its page", async () => {
    const server = await start();
    const page = await askAndClose(server.ports.http, "GET /debug/list HTTP/1.0\r\n\r\n");
    expect(page).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("metrics tell of services, proxies, pushes and the CA", async () => {
    const server = await start({ files: { "a.yaml": JSON.stringify(entry("a")) } });
    await connected(server);
    const text = await (await server.get("/metrics")).text();
    for (const line of [
      "pilot_services 1",
      'pilot_xds{version="unknown"} 1',
      'pilot_xds_pushes{type="cds"} 1',
      'pilot_xds_pushes{type="eds"} 1',
      'pilot_xds_push_time_count{type="cds"} 1',
      "pilot_virt_services 0",
      "pilot_no_ip 0",
      "endpoint_no_pod 0",
      "pilot_duplicate_envoy_clusters 0",
    ]) {
      expect(text).toContain(`${line}\n`);
    }
    expect(text).toMatch(/^citadel_server_root_cert_expiry_seconds \d/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d/m);
    expect(text).toMatch(/^xds_cache_size [1-9]/m);
    expect(text).toMatch(/^xds_cache_reads\{type="miss"\} [1-9]/m);
  });
});

test("collisions that show when resources are made are counted", async () => {
  const tcp = (name: string) => {
    const ports = [{ number: 9000, name: "tcp", protocol: "TCP" }];
    return JSON.stringify(entry(name, { addresses: [], resolution: "NONE", endpoints: [], ports }));
  };
  const virtualService = (name: string) => ({
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name, namespace: "default" },
    spec: { hosts: ["a.example"], http: [{ route: [{ destination: { host: "a.example" } }] }] },
  });
  const served = (name: string, protocol: string) => {
    const ports = [{ number: 7000, name: "p", protocol, targetPort: 7001 }];
    return JSON.stringify(entry(name, { addresses: ["10.96.9.9"], endpoints: [{ address: "10.9.9.1" }], ports }));
  };
  const server = await start({
    files: {
      "a.yaml": tcp("a"),
      "b.yaml": tcp("b"),
      "c.yaml": served("c", "HTTP"),
      "d.yaml": served("d", "TCP"),
      "v.yaml": JSON.stringify(virtualService("v")),
      "w.yaml": JSON.stringify(virtualService("w")),
    },
  });
  for (const address of ["10.9.9.1", "10.9.9.9"]) {
    const stream = opened.add(openSotw({ port: server.ports.grpc }));
    stream.send({ node: testNode({ metadata: { NAMESPACE: "default", INSTANCE_IPS: address } }), typeUrl: URLS.LDS });
    await stream.next();
  }
  const metrics = async () => (await server.get("/metrics")).text();
  expect(await metrics()).toContain("pilot_conflict_outbound_listener_tcp_over_current_tcp 1\n");
  expect(await metrics()).toContain("pilot_conflict_inbound_listener 1\n");
  expect(await (await server.get("/debug/push_status")).json()).toMatchObject({
    pilot_conflict_outbound_listener_tcp_over_current_tcp: {
      "0.0.0.0_9000": { proxy: "web-1.default", message: expect.stringContaining("b.example loses to a.example") },
    },
    pilot_duplicate_envoy_clusters: {},
  });
  expect(await metrics()).toContain("pilot_no_ip 1\n");
  await expect.poll(metrics).toContain("pilot_vservice_dup_domain 1\n");
  // Another change, by which nothing of it is made again, leaves it; once it is over, it is not counted any more.
  const { pushes } = server.discovery;
  server.write("e.yaml", served("e", "HTTP").replaceAll("7000", "7100").replace("10.9.9.1", "10.9.9.2"));
  await expect.poll(() => server.discovery.pushes).toBeGreaterThan(pushes);
  expect(await metrics()).toContain("pilot_conflict_inbound_listener 1\n");
  server.write("b.yaml", "");
  server.write("d.yaml", "");
  await expect.poll(metrics).toContain("pilot_conflict_outbound_listener_tcp_over_current_tcp 0\n");
  await expect.poll(metrics).toContain("pilot_conflict_inbound_listener 0\n");
});

test("a refused document and a rule that collides are counted and reported, and block nothing", async () => {
  const server = await start({
    files: { "a.yaml": JSON.stringify(entry("a")), "bad.yaml": JSON.stringify(entry("bad", { hosts: [] })) },
  });
  const metrics = await (await server.get("/metrics")).text();
  expect(metrics).toContain('pilot_total_rejected_configs{type="document"} 1\n');
  expect(metrics).toContain("pilot_services 1\n");
  server.write("b.yaml", JSON.stringify({ ...entry("b"), spec: { ...entry("a").spec } }));
  const status = async () => (await server.get("/debug/push_status")).text();
  await expect.poll(status).toContain("port 80 of a.example is taken by");
  expect(await status()).toContain("bad.yaml:1:");
  await expect.poll(() => server.log.text()).toContain("rule is not followed as written");
  server.write("c.yaml", JSON.stringify({ ...entry("c"), spec: { ...entry("a").spec } }));
  const notices = () => server.log.lines.filter(({ message }) => message === "rule is not followed as written");
  await expect
    .poll(() => notices().map(({ fields }) => fields.object))
    .toEqual(["ServiceEntry default/b", "ServiceEntry default/c"]);
});

test("the page of injection shows the templates in force", async () => {
  using folder = temporaryFolder();
  const config = folder.write("config", "templates: {sidecar: 'metadata: {}', own: 'spec: {}'}");
  const any = { host: "127.0.0.1", port: 0 };
  const server = await start({
    ports: { http: any, grpc: any, secureGrpc: any, https: any },
    webhooks: webhookSettings({}, { config, values: "" }),
  });
  const shown: unknown = await (await server.get("/debug/inject")).json();
  expect(shown).toEqual({ sidecar: "metadata: {}", own: "spec: {}" });
});

describe("debug pages", () => {
  test.each([
    ["adsz", '"totalClients": 1'],
    ["connections", "web-1.default-1"],
    ["syncz", '"cluster_sent"'],
    ["registryz", '"hostname": "a.example"'],
    ["endpointz", '"Addresses"'],
    ["endpointShardz", "External/Kubernetes"],
    ["configz", '"kind": "ServiceEntry"'],
    ["mesh", '"proxyListenPort": 15001'],
    ["push_status", '"services": 1'],
    ["instancesz", '"TargetPort": 80'],
    ["list", '"syncz"'],
    ["inject", "{}"],
    ["mcsz", "[]"],
    ["ambientz", '"workloads": null'],
    ["resourcesz", '"kind": "VirtualService"'],
    ["cachez", '"misses": '],
    ["cachez?sizes", '"size": '],
    ["cachez?clear=true", "Cache cleared"],
    ["pushcontext", '"ServiceEntry": 1'],
    ["clusterz", '"id": "Kubernetes"'],
    ["networkz", "[]"],
    ["authorizationz", '"namespace_to_policies": {}'],
    ["telemetryz", '"root_namespace": "istio-system"'],
    ["ecdsz?proxyID=web-1.default", "{}"],
    ["config_dump?proxyID=web-1.default", "outbound|80||a.example"],
    ["config_dump?proxyID=web-1.default&types=endpoints", "10.10.0.11"],
    ["explain?proxyID=web-1.default", '"name": "virtualInbound"'],
    ["explain?proxyID=web-1.default&type=eds&name=outbound%7C80%7C%7Ca.example", "10.10.0.11"],
    ["explain?proxyID=web-1.default&why=outbound%7C80%7C%7Ca.example", '"kind": "ServiceEntry"'],
    ["explain?proxyID=web-1.default&origins", '"type": "lds"'],
    [
      `explain?type=cds&node=${encodeURIComponent(JSON.stringify({ id: "sidecar~192.0.2.1~x.nowhere~nowhere" }))}`,
      "outbound|80||a.example",
    ],
    ["config_dump?proxyID=web-1.default&types=eds,CDS", '"clusterName": "outbound|80||a.example"'],
    ["config_dump?proxyID=web-1.default&include_eds", '"dynamicEndpointConfigs"'],
    ["edsz?proxyID=web-1.default", '"clusterName": "outbound|80||a.example"'],
    ["ndsz?proxyID=web-1.default", '"a.example"'],
    ["sidecarz?proxyID=web-1.default", '"a.example"'],
    ["resourcesz?proxyID=web-1.default-1", '"name": "outbound|80||a.example"'],
  ])("%s shows %s", async (page, part) => {
    const server = await start({ files: { "a.yaml": JSON.stringify(entry("a")) } });
    await connected(server);
    const answer = await server.get(`/debug/${page}`);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain(part);
  });

  test("services, endpoints and what a proxy serves have the members that tools know", async () => {
    const labels = { app: "a" };
    const endpoints = [{ address: "10.10.0.11", labels, serviceAccount: "sa", locality: "r/z/s", weight: 3 }];
    const objects = [
      entry("a", { addresses: ["10.96.0.1", "10.96.0.2"], endpoints, exportTo: ["."] }),
      entry("b", { addresses: [], resolution: "DNS", location: "MESH_EXTERNAL", endpoints: [] }),
    ];
    const server = await start({ files: { "a.yaml": objects.map((one) => JSON.stringify(one)).join("\n---\n") } });
    await connected(server);
    const page = async (path: string) => (await server.get(`/debug/${path}`)).json();
    const a = {
      Attributes: { ServiceRegistry: "External", Name: "a.example", Namespace: "default", ExportTo: { ".": {} } },
      ports: [{ name: "http", port: 80, protocol: "HTTP" }],
      hostname: "a.example",
      defaultAddress: "10.96.0.1",
      Resolution: 0,
      MeshExternal: false,
    };
    expect(await page("registryz")).toMatchObject([
      a,
      { ...a, defaultAddress: "10.96.0.2" },
      { hostname: "b.example", defaultAddress: "0.0.0.0", Resolution: 1, MeshExternal: true },
    ]);
    const account = "spiffe://cluster.local/ns/default/sa/sa";
    expect(await page("endpointShardz")).toMatchObject({
      "a.example": {
        default: {
          Shards: {
            "External/Kubernetes": [
              {
                Labels: {
                  ...labels,
                  "topology.istio.io/cluster": "Kubernetes",
                  "topology.kubernetes.io/region": "r",
                  "topology.kubernetes.io/zone": "z",
                  "topology.istio.io/subzone": "s",
                },
                Addresses: ["10.10.0.11"],
                ServicePortName: "http",
                LegacyClusterPortKey: 80,
                ServiceAccount: account,
                Locality: { Label: "r/z/s", ClusterID: "Kubernetes" },
                EndpointPort: 80,
                LbWeight: 3,
                TLSMode: "istio",
                HealthStatus: 0,
              },
            ],
          },
          ServiceAccounts: { [account]: {} },
        },
      },
    });
    expect(await page("instancesz")).toMatchObject({
      "web-1.default": [{ Service: a, Port: { name: "http", port: 80, protocol: "HTTP", TargetPort: 80 } }],
    });
    expect(await page("sidecarz?proxyID=web-1.default")).toMatchObject({
      name: "default-sidecar",
      namespace: "default",
      sidecar: null,
      destinationRules: {},
      servicesByHostname: { "a.example": a },
      egressListenerServices: [[a, { hostname: "a.example" }, { hostname: "b.example" }]],
    });
    expect(await page("configz")).toMatchObject([
      { kind: "ServiceEntry", metadata: { name: "a", namespace: "default" } },
      { kind: "ServiceEntry", metadata: { name: "b" } },
    ]);
  });

  test("proxies are shown with type URLs, nonces and places", async () => {
    const server = await start({ files: { "a.yaml": JSON.stringify(entry("a")) } });
    const stream = opened.add(openSotw({ port: server.ports.grpc }));
    const locality = { region: "r", zone: "z", subZone: "" };
    stream.send({ node: { ...testNode(), locality }, typeUrl: URLS.CDS });
    const { nonce } = await stream.next();
    stream.send({ typeUrl: URLS.CDS, responseNonce: nonce });
    stream.send({ typeUrl: URLS.EDS, resourceNames: ["outbound|80||a.example"] });
    const endpoints = await stream.next();
    const page = async (path: string) => (await server.get(`/debug/${path}`)).json();
    expect(await page("adsz")).toMatchObject({
      clients: [
        {
          connectionId: "web-1.default-1",
          labels: { app: "web", "topology.istio.io/cluster": "Kubernetes", "topology.kubernetes.io/region": "r" },
          locality: { region: "r", zone: "z" },
          watches: { [URLS.CDS]: [], [URLS.EDS]: ["outbound|80||a.example"] },
        },
      ],
    });
    const [proxy] = (await page("syncz")) as Record<string, unknown>[];
    expect(proxy).toMatchObject({
      cluster_acked: nonce,
      endpoint_sent: endpoints.nonce,
      resources: {
        [URLS.CDS]: { sent: nonce, acked: nonce, sentTime: expect.stringMatching(/Z$/), status: "SYNCED" },
        [URLS.EDS]: { sent: endpoints.nonce, status: "STALE" },
      },
    });
    expect(proxy).not.toHaveProperty("endpoint_acked");
    const { configs } = (await page("config_dump?proxyID=web-1.default")) as { configs: { "@type": string }[] };
    expect(configs.map((config) => config["@type"].replace(/.*v3\.(.*)ConfigDump/, "$1"))).toEqual([
      "Bootstrap",
      "Clusters",
      "Listeners",
      "ScopedRoutes",
      "Routes",
      "Secrets",
      "Ecds",
    ]);
    expect(configs[1]).toHaveProperty("versionInfo");
  });

  test.each([
    ["config_dump", 400, "You must provide a proxyID"],
    ["config_dump?proxyID=nobody", 404, "Proxy not connected to this Pilot instance."],
    ["explain?proxyID=nobody", 404, "Proxy not connected to this Pilot instance."],
    ["explain?proxyID=web-1.default&type=sds", 400, 'type is "sds", allowed are cds'],
    ["explain?proxyID=web-1.default&why=nothing", 404, 'has the name "nothing"'],
    ["explain?node=no", 400, "node: "],
    ["config_dump?proxyID=web-1.default&types=bootstrap", 400, 'types has "bootstrap"'],
    ["force_disconnect?proxyID=web-1.default", 404, "UNSAFE_ENABLE_ADMIN_ENDPOINTS"],
    ["nothing", 404, "404 page not found"],
    ["constructor", 404, "404 page not found"],
  ])("%s is answered with %i", async (page, status, part) => {
    const server = await start();
    await connected(server);
    const answer = await server.get(`/debug/${page}`);
    expect(answer.status).toBe(status);
    expect(await answer.text()).toContain(part);
  });

  test("policies are listed by namespace as they are written", async () => {
    const spec = { action: "DENY", rules: [{ to: [{ operation: { methods: ["DELETE"] } }] }] };
    const object = { apiVersion: "security.istio.io/v1", kind: "AuthorizationPolicy" };
    const file = JSON.stringify({ ...object, metadata: { name: "no-delete", namespace: "prod" }, spec });
    const server = await start({ files: { "p.yaml": file } });
    expect(await (await server.get("/debug/authorizationz")).json()).toEqual({
      authorization_policies: {
        namespace_to_policies: { prod: [{ name: "no-delete", namespace: "prod", annotations: null, spec }] },
        root_namespace: "istio-system",
      },
    });
  });

  test("a cleared cache is filled again, and proxies are not sent what they have", async () => {
    const server = await start({ files: { "a.yaml": JSON.stringify(entry("a")) } });
    const stream = await connected(server);
    const size = async () => ((await (await server.get("/debug/cachez?sizes")).json()) as { size: number }).size;
    const before = await size();
    expect(before).toBeGreaterThan(0);
    await server.get("/debug/cachez?clear=true");
    expect(await size()).toBe(0);
    const { pushes } = server.discovery;
    await server.get("/debug/adsz?push=true");
    await expect.poll(() => server.discovery.pushes).toBe(pushes + 1);
    await expect.poll(size).toBe(before);
    // What comes next is the answer to the next question.
    stream.send({ typeUrl: URLS.LDS });
    expect((await stream.next()).typeUrl).toBe(URLS.LDS);
  });

  test("a push can be forced, a stream can be ended", async () => {
    const server = await start({ auth: { allowsAdmin: true } });
    const stream = await connected(server);
    const before = server.discovery.pushes;
    expect((await server.get("/debug/adsz?push=true")).status).toBe(200);
    await expect.poll(() => server.discovery.pushes).toBe(before + 1);
    await server.get("/debug/force_disconnect?proxyID=web-1.default");
    expect((await stream.ended).code).toBe("UNAVAILABLE");
  });

  test.each<Record<string, string>>([
    { "sec-fetch-site": "cross-site" },
    { origin: "http://evil.example" },
    { host: "rebound.example" },
  ])("what a GET does it does not do for a page of another server, with %j", async (headers) => {
    const server = await start({ files: { "a.yaml": JSON.stringify(entry("a")) }, auth: { allowsAdmin: true } });
    await connected(server);
    const size = async () => ((await (await server.get("/debug/cachez?sizes")).json()) as { size: number }).size;
    const [pushes, filled] = [server.discovery.pushes, await size()];
    for (const page of ["cachez?clear=true", "adsz?push=true", "force_disconnect?proxyID=web-1.default", "syncz"]) {
      const answer = await fetchBytes(server.ports.http, `/debug/${page}`, headers);
      expect([answer.status, answer.text], page).toEqual([
        403,
        expect.stringMatching(/^(Host|Origin|Sec-Fetch-Site) is /),
      ]);
    }
    expect([server.discovery.pushes, await size(), server.discovery.connections.all().length]).toEqual([
      pushes,
      filled,
      1,
    ]);
    expect((await fetchBytes(server.ports.http, "/ready", headers)).status).toBe(200);
  });

  test("a page under another name of this machine needs a token, as a browser could be led here", async () => {
    const server = await start();
    const get = (headers: Record<string, string>) =>
      new Promise<number>((resolve, reject) => {
        const call = request(
          { port: server.ports.http, path: "/debug/syncz", headers: { host: "evil.example", ...headers } },
          (answer) => {
            answer.resume();
            resolve(answer.statusCode ?? 0);
          },
        );
        call.on("error", reject).end();
      });
    expect(await get({})).toBe(403);
    expect(await get({ authorization: "Bearer x" })).toBe(401);
    const token = await server.discovery.issueToken({ namespace: "default", name: "web" }, 60);
    expect(await get({ authorization: `Bearer ${token}` })).toBe(200);
  });
});

describe("rules over HTTP", () => {
  const put = (server: DiscoveryServer, path: string, body: unknown) =>
    server.get(path, {
      method: "PUT",
      body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    });

  test("are put, listed, shown, replaced and deleted, and proxies hear of it", async () => {
    const server = await start();
    const stream = opened.add(openSotw({ port: server.ports.grpc }));
    stream.send({ node: testNode(), typeUrl: URLS.CDS });
    const { nonce } = await stream.next();
    stream.send({ typeUrl: URLS.CDS, responseNonce: nonce });
    expect((await put(server, "/config", entry("a"))).status).toBe(201);
    expect(
      Buffer.concat((await stream.next()).resources.map(({ value }) => Buffer.from(value ?? []))).toString(),
    ).toContain("a.example");
    expect((await put(server, "/config/ServiceEntry/default/a", entry("a", { addresses: ["10.96.0.2"] }))).status).toBe(
      200,
    );
    const shown = await (await server.get("/config/ServiceEntry/default/a")).json();
    expect(shown).toMatchObject({ kind: "ServiceEntry", spec: { addresses: ["10.96.0.2"] }, origin: "memory" });
    const { items } = (await (await server.get("/config?kind=ServiceEntry&namespace=default")).json()) as {
      items: unknown[];
    };
    expect(items).toHaveLength(1);
    expect((await server.get("/config/ServiceEntry/default/a", { method: "DELETE" })).status).toBe(204);
    expect((await server.get("/config/ServiceEntry/default/a")).status).toBe(404);
    await expect.poll(() => server.discovery.snapshot.services).toEqual([]);
  });

  test("may be YAML, and a dry run changes nothing", async () => {
    const server = await start();
    const yaml =
      "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: v}\nspec:\n  hosts: [a.example]\n  http: [{route: [{destination: {host: a.example}}]}]\n";
    expect((await put(server, "/config?dryRun=true", yaml)).status).toBe(200);
    expect((await server.get("/config/VirtualService/default/v")).status).toBe(404);
    expect((await put(server, "/config/VirtualService/prod/v", yaml)).status).toBe(201);
    expect((await server.get("/config/VirtualService/prod/v")).status).toBe(200);
  });

  test.each([
    { path: "/config", body: entry("a", { hosts: [] }), status: 422, says: "hosts" },
    { path: "/config", body: "{", status: 422, says: "line 1" },
    {
      path: "/config",
      body: { kind: "Pod", apiVersion: "v1" },
      status: 422,
      says: "v1 Pod is not a kind that is read",
    },
    {
      path: "/config",
      body: `${JSON.stringify(entry("a"))}\n---\n${JSON.stringify(entry("b"))}`,
      status: 400,
      says: "2 documents",
    },
    {
      path: "/config",
      body: `${JSON.stringify(entry("a"))}\n---\nkind: [`,
      status: 422,
      says: "line 3",
    },
    {
      path: "/config",
      body: Buffer.from(JSON.stringify(entry("a", { hosts: ["\u00e9"] })), "latin1"),
      status: 400,
      says: "UTF-8",
    },
    { path: "/config", body: { kind: { toString: 1 } }, status: 422, says: "kind: expected text" },
    { path: "/config/ServiceEntry/default/b", body: entry("a"), status: 400, says: 'the path says "b"' },
    { path: "/config/Pod/default/b", body: entry("a"), status: 400, says: "is unknown" },
    { path: "/config/ServiceEntry/default", body: entry("a"), status: 400, says: "KIND/NAMESPACE/NAME" },
    { path: "/config/ServiceEntry/default/%ff", body: entry("a"), status: 400, says: "bad escape" },
    { path: "/config", body: "x".repeat(5 * 1024 * 1024), status: 413, says: "larger than" },
  ])("$path with a body that is wrong is answered with $status: $says", async ({ path, body, status, says }) => {
    const server = await start();
    const answer = await put(server, path, body);
    expect(answer.status).toBe(status);
    expect(await answer.text()).toContain(says);
    expect(server.discovery.snapshot.services).toEqual([]);
  });

  test.each([
    { what: "is too large", path: "/config", length: 5 * 1024 * 1024, status: 413 },
    { what: "no one looks at", path: "/nowhere", length: 5 * 1024 * 1024, status: 404 },
    { what: "never comes", path: "/config/ServiceEntry/default/%ff", length: 0, status: 400 },
  ])(
    "a body that $what ends the connection with its answer, for the next request would wait behind it",
    async (given) => {
      const server = await start();
      const socket = connect(server.ports.http, "127.0.0.1");
      opened.defer(() => void socket.destroy());
      let answer = "";
      socket.on("data", (chunk) => {
        answer += chunk;
      });
      const ended = new Promise<void>(
        (resolve) => void socket.on("error", () => resolve()).on("close", () => resolve()),
      );
      socket.write(`PUT ${given.path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n`);
      socket.write("x".repeat(given.length));
      await ended;
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${given.status} `));
      expect(answer).toMatch(/^connection: close\r$/im);
    },
  );

  test("objects of files cannot be changed here, and other methods are refused", async () => {
    const server = await start({ files: { "a.yaml": JSON.stringify(entry("a")) } });
    expect((await put(server, "/config", entry("a"))).status).toBe(409);
    expect((await server.get("/config/ServiceEntry/default/a", { method: "DELETE" })).status).toBe(409);
    expect((await server.get("/config", { method: "DELETE" })).status).toBe(400);
    expect((await server.get("/config", { method: "PATCH" })).status).toBe(405);
    expect((await server.get("/config/ServiceEntry/default/none", { method: "DELETE" })).status).toBe(404);
  });

  test("from elsewhere they need a token of the system namespace", async () => {
    const server = await start();
    const ask = async (account: { namespace: string; name: string } | undefined) => {
      const authorization =
        account === undefined ? {} : { authorization: `Bearer ${await server.discovery.issueToken(account, 60)}` };
      return new Promise<number>((resolve, reject) => {
        const headers = { host: "mesh.example", ...authorization };
        const call = request({ port: server.ports.http, path: "/config", headers }, (answer) => {
          answer.resume();
          resolve(answer.statusCode ?? 0);
        });
        call.on("error", reject).end();
      });
    };
    expect(await ask(undefined)).toBe(403);
    expect(await ask({ namespace: "default", name: "web" })).toBe(403);
    expect(await ask({ namespace: "istio-system", name: "operator" })).toBe(200);
  });
});

describe("the mesh file", () => {
  test("names directories of rules, which are watched; the one given at the start is not read then", async () => {
    const folder = mkdtempSync(join(tmpdir(), "config-sources-"));
    opened.defer(() => rmSync(folder, { recursive: true, force: true }));
    const write = (dir: string, name: string) => {
      mkdirSync(join(folder, dir), { recursive: true });
      writeFileSync(join(folder, dir, `${name}.yaml`), JSON.stringify(entry(name)));
    };
    write("one", "a");
    write("two", "b");
    const sources = ["one", "two"].map((dir) => ({ address: `fs://${join(folder, dir)}` }));
    const mesh = JSON.stringify({ configSources: [...sources, { address: "k8s://" }] });
    const server = await start({ mesh, files: { "c.yaml": JSON.stringify(entry("c")) } });
    const hosts = () => server.discovery.snapshot.services.map(({ hostname }) => hostname).sort();
    expect(hosts()).toEqual(["a.example", "b.example"]);
    expect(server.log.text()).toContain("config source is not supported and ignored");
    expect(server.log.text()).toContain("--configDir is not read");
    write("two", "d");
    await expect.poll(hosts).toEqual(["a.example", "b.example", "d.example"]);
    // They are files like any other: the API shows them and cannot change them.
    expect((await server.get("/config/ServiceEntry/default/b", { method: "DELETE" })).status).toBe(409);
  });

  test("with a source that has no path ends the start", async () => {
    await expect(start({ mesh: "configSources: [{address: 'fs://'}]" })).rejects.toThrow("contains no file path");
  });

  test("is watched: a change reaches proxies, a broken one changes nothing", async () => {
    const server = await start();
    const stream = opened.add(openSotw({ port: server.ports.grpc }));
    stream.send({ node: testNode(), typeUrl: URLS.LDS });
    const { nonce } = await stream.next();
    stream.send({ typeUrl: URLS.LDS, responseNonce: nonce });
    const path = join(server.folder, "mesh.yaml");
    writeFileSync(path, "outboundTrafficPolicy: {mode: REGISTRY_ONLY}\n");
    expect((await stream.next()).typeUrl).toBe(URLS.LDS);
    writeFileSync(path, "outboundTrafficPolicy: [");
    await expect.poll(() => server.log.text()).toContain("mesh config cannot be used, the last one stays");
    expect(await (await server.get("/debug/mesh")).json()).toMatchObject({
      outboundTrafficPolicy: { mode: "REGISTRY_ONLY" },
    });
  });

  test("that is broken at the start ends it, and nothing stays open", async () => {
    await expect(startDiscoveryServer({ mesh: "accessLogEncoding: 7\nx: [" })).rejects.toMatchObject({
      code: "invalid-mesh-config",
    });
  });
});

describe("starting and stopping", () => {
  test("a taken port fails the start and leaves nothing open; stopping twice is stopping once", async () => {
    const first = await start();
    const { host, port } = { host: "127.0.0.1", port: first.ports.grpc };
    const free = { host, port: 0 };
    await expect(startDiscoveryServer({ ports: { http: free, grpc: { host, port } } })).rejects.toMatchObject({
      code: "address-in-use",
    });
    await expect(startDiscoveryServer({ ports: { http: { host, port: first.ports.http } } })).rejects.toMatchObject({
      code: "address-in-use",
    });
    await Promise.all([first.discovery.stop(), first.discovery.stop()]);
    await expect(first.get("/ready")).rejects.toThrow();
  });

  test("without a host plaintext is served on both loopback addresses", async () => {
    const server = await start({ ports: { grpc: { host: "", port: 0 } } });
    for (const host of ["127.0.0.1", "[::1]"]) {
      const stream = opened.add(openSotw({ port: server.ports.grpc, host }));
      stream.send({ node: testNode(), typeUrl: URLS.CDS });
      await stream.next();
    }
  });
});
