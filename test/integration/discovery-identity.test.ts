import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { createCertificate } from "../../src/grpc/create-certificate.ts";
import { decodeMessage } from "../../src/protobuf/envoy/index.ts";
import { buildCsr } from "../../src/protocol/x509/csr.ts";
import { encodePrivateKey, generateKeyPair } from "../../src/protocol/x509/key-pair.ts";
import { openssl } from "../support/certs/openssl.ts";
import {
  type DiscoveryServer,
  type DiscoveryServerOptions,
  startDiscoveryServer,
} from "../support/discovery/server.ts";
import { needs } from "../support/needs.ts";
import { type AdsClientOptions, openDelta, openSotw, testNode, URLS } from "../support/xds/ads-client.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const start = async (options: DiscoveryServerOptions = {}): Promise<DiscoveryServer> =>
  opened.add(await startDiscoveryServer(options));

const WEB = { namespace: "default", name: "web" };
const node = (metadata: Record<string, string> = {}) =>
  testNode({ metadata: { NAMESPACE: "default", SERVICE_ACCOUNT: "web", INSTANCE_IPS: "10.10.0.11", ...metadata } });

/** "served", or the status the stream ended with. */
async function attempt(server: DiscoveryServer, options: Partial<AdsClientOptions>, metadata = {}): Promise<string> {
  const isTls = options.tls !== undefined;
  const stream = openSotw({ port: isTls ? server.ports.secureGrpc : server.ports.grpc, ...options });
  try {
    stream.send({ node: node(metadata), typeUrl: URLS.CDS });
    const refused = stream.ended.then(({ code, message }) => `${code} ${message}`);
    return await Promise.race([stream.next().then(() => "served"), refused]);
  } finally {
    await stream[Symbol.asyncDispose]();
  }
}

/** A workload certificate, had from the server's own CA as an agent has it. */
async function certificate(server: DiscoveryServer, rootPem = server.discovery.rootPem) {
  const keys = await generateKeyPair({ type: "ecdsa", curve: "P256" });
  const token = await server.discovery.issueToken(WEB, 60);
  await using channel = createGrpcChannel(`127.0.0.1:${server.ports.secureGrpc}`, {
    tls: () => ({ ca: rootPem, serverName: "istiod.istio-system.svc" }),
    credentials: () => ({ authorization: `Bearer ${token}` }),
  });
  const csr = await buildCsr(keys, { hosts: ["spiffe://cluster.local/ns/x/sa/y"] });
  const request = { csr, validityDuration: 600n, metadata: undefined };
  const { certChain } = await channel.unary(createCertificate, request);
  return { cert: certChain.slice(0, -1).join(""), key: encodePrivateKey(keys.privateKey, true).reveal() };
}

describe.each(["ours", "grpc-js"] as const)("over TLS, client library %s", (library) => {
  test("a token of the node's account is accepted, for both protocols", async () => {
    const server = await start();
    const tls = { ca: server.discovery.rootPem };
    const token = await server.discovery.issueToken(WEB, 60);
    expect(await attempt(server, { tls, token, library })).toBe("served");
    const delta = opened.add(openDelta({ port: server.ports.secureGrpc, tls, token, library }));
    delta.send({ node: node(), typeUrl: URLS.CDS });
    expect((await delta.next()).resources.length).toBeGreaterThan(0);
    expect(server.discovery.connections.all()[0]?.identities).toEqual(["spiffe://cluster.local/ns/default/sa/web"]);
  });

  test("a certificate that the server's CA issued is accepted", async () => {
    const server = await start();
    const own = await certificate(server);
    expect(await attempt(server, { tls: { ca: server.discovery.rootPem, ...own }, library })).toBe("served");
  });

  test("who proves nothing is refused", async () => {
    const server = await start();
    const tls = { ca: server.discovery.rootPem };
    expect(await attempt(server, { tls, library })).toBe("UNAUTHENTICATED authentication failure");
    expect(await attempt(server, { tls, token: "not.a.token", library })).toBe(
      "UNAUTHENTICATED authentication failure",
    );
    expect(server.log.text()).not.toContain("not.a.token");
  });

  test.each([
    { claims: { NAMESPACE: "bank" }, matched: "bank/web" },
    { claims: { SERVICE_ACCOUNT: "admin" }, matched: "default/admin" },
  ])("a node that claims to be $matched is refused", async ({ claims, matched }) => {
    const server = await start();
    const tls = { ca: server.discovery.rootPem };
    const identity = "spiffe://cluster.local/ns/default/sa/web";
    const refusal = `PERMISSION_DENIED authorization failed: no identities ([${identity}]) matched ${matched}`;
    const token = await server.discovery.issueToken(WEB, 60);
    expect(await attempt(server, { tls, token, library }, claims)).toBe(refusal);
    const own = await certificate(server);
    expect(await attempt(server, { tls: { ...tls, ...own }, library }, claims)).toBe(refusal);
  });
});

test("the namespace of the node id counts where metadata name none", async () => {
  const server = await start();
  const token = await server.discovery.issueToken(WEB, 60);
  const stream = opened.add(openSotw({ port: server.ports.secureGrpc, tls: { ca: server.discovery.rootPem }, token }));
  stream.send({
    node: testNode({ id: "sidecar~10.0.0.1~x.bank~bank.svc.cluster.local", metadata: {} }),
    typeUrl: URLS.CDS,
  });
  expect((await stream.ended).code).toBe("PERMISSION_DENIED");
});

test.each([
  { auth: { checksIdentity: false }, metadata: { NAMESPACE: "bank" }, withToken: true },
  { auth: { requiresIdentity: false }, metadata: {}, withToken: false },
])("$auth lets it pass", async ({ auth, metadata, withToken }) => {
  const server = await start({ auth });
  const token = withToken ? { token: await server.discovery.issueToken(WEB, 60) } : {};
  expect(await attempt(server, { tls: { ca: server.discovery.rootPem }, ...token }, metadata)).toBe("served");
});

test("what a gateway says of its client counts when it is a trusted one", async () => {
  const forwarded = "By=spiffe://cluster.local/ns/edge/sa/gw;Hash=1;URI=spiffe://cluster.local/ns/default/sa/web";
  const ask = async (trustedGateways: readonly string[], metadata = {}) => {
    const server = await start({ trustedGateways });
    return attempt(server, { tls: { ca: server.discovery.rootPem }, forwarded }, metadata);
  };
  expect(await ask(["127.0.0.0/8"])).toBe("served");
  expect(await ask(["127.0.0.0/8"], { NAMESPACE: "other" })).toBe(
    "PERMISSION_DENIED authorization failed: no identities ([spiffe://cluster.local/ns/default/sa/web]) matched other/web",
  );
  expect(await ask(["10.0.0.0/8"])).toBe("UNAUTHENTICATED authentication failure");
  expect(await ask([])).toBe("UNAUTHENTICATED authentication failure");
});

test("certificates are had in plaintext only where there is no TLS port and tokens are asked for there", async () => {
  const ask = async (server: DiscoveryServer, withToken: boolean) => {
    const token = await server.discovery.issueToken(WEB, 60);
    await using channel = createGrpcChannel(`127.0.0.1:${server.ports.grpc}`, {
      credentials: (): Record<string, string> => (withToken ? { authorization: `Bearer ${token}` } : {}),
    });
    const keys = await generateKeyPair({ type: "ecdsa", curve: "P256" });
    const csr = await buildCsr(keys, { hosts: ["spiffe://cluster.local/ns/x/sa/y"] });
    const call = channel.unary(createCertificate, { csr, validityDuration: 600n, metadata: undefined });
    return await call.then(({ certChain }) => certChain.length, String);
  };
  const host = "127.0.0.1";
  const ports = { http: { host, port: 0 }, grpc: { host, port: 0 } };
  const plain = await start({ ports, auth: { requiresPlaintextIdentity: true } });
  expect(await ask(plain, true)).toBe(2);
  expect(await ask(plain, false)).toContain("request authenticate failure");
  expect(await ask(await start({ ports }), true)).toContain("request authenticate failure");
  expect(await ask(await start(), true)).toContain("unknown service istio.v1.auth.IstioCertificateService");
});

test("plaintext from this machine needs no identity, unless it is asked for", async () => {
  expect(await attempt(await start(), {})).toBe("served");
  const strict = await start({ auth: { requiresPlaintextIdentity: true } });
  expect(await attempt(strict, {})).toBe("UNAUTHENTICATED authentication failure");
  expect(await attempt(strict, { token: await strict.discovery.issueToken(WEB, 60) })).toBe("served");
});

test("debug over xDS is for identities of the system namespace", async () => {
  const server = await start();
  const tls = { ca: server.discovery.rootPem };
  const ask = async (account: typeof WEB, options: { typeUrl: string; resourceNames?: string[] }, plain = false) => {
    const token = await server.discovery.issueToken(account, 60);
    const stream = opened.add(
      openSotw(plain ? { port: server.ports.grpc } : { port: server.ports.secureGrpc, tls, token }),
    );
    const metadata = { NAMESPACE: account.namespace, INSTANCE_IPS: "10.0.0.1" };
    stream.send({ node: testNode({ metadata }), ...options });
    const ended = stream.ended.then(({ code, message }) => `${code} ${message}`);
    return Promise.race([stream.next(), ended]);
  };
  const operator = { namespace: "istio-system", name: "operator" };
  const page = await ask(operator, { typeUrl: "istio.io/debug", resourceNames: ["syncz"] });
  expect(typeof page === "string" ? page : Buffer.from(page.resources[0]?.value ?? []).toString()).toContain(
    "web-1.default",
  );
  expect(await ask(operator, { typeUrl: "istio.io/debug/connections" })).toMatchObject({
    typeUrl: "istio.io/debug/connections",
  });
  const sync = await ask(operator, { typeUrl: "istio.io/debug/syncz" });
  const statuses = typeof sync === "string" ? [] : sync.resources;
  expect(statuses.map(({ typeUrl }) => typeUrl)).toContain("type.googleapis.com/envoy.service.status.v3.ClientConfig");
  const decoded = decodeMessage("envoy.service.status.v3.ClientConfig", Buffer.from(statuses[0]?.value ?? []));
  expect(decoded.node?.id).toBe("web-1.default");
  const dump = await ask(operator, {
    typeUrl: "istio.io/debug/config_dump",
    resourceNames: ["web-1.default", "nobody"],
  });
  const parts = typeof dump === "string" ? [] : dump.resources;
  expect(parts.map(({ typeUrl = "" }) => typeUrl.replace(/.*v3\.(.*)ConfigDump/, "$1"))).toEqual([
    "Bootstrap",
    "Clusters",
    "Listeners",
    "ScopedRoutes",
    "Routes",
    "Secrets",
    "Ecds",
  ]);
  const clusters = decodeMessage("envoy.admin.v3.ClustersConfigDump", Buffer.from(parts[1]?.value ?? []));
  expect(clusters.dynamicActiveClusters?.map(({ cluster }) => cluster)).toContainEqual(
    expect.objectContaining({ name: "BlackHoleCluster" }),
  );
  expect(await ask(operator, { typeUrl: "istio.io/debug", resourceNames: ["syncz", "adsz"] })).toBe(
    "INVALID_ARGUMENT exactly one debug request is required",
  );
  for (const name of ["//[", "//x:99999/", "", "constructor"]) {
    const none = await ask(operator, { typeUrl: "istio.io/debug", resourceNames: [name] });
    const said = typeof none === "string" ? none : Buffer.from(none.resources[0]?.value ?? []).toString();
    expect(said).toBe(`no debug page ${name}\n`);
  }
  expect(await ask(WEB, { typeUrl: "istio.io/debug", resourceNames: ["syncz"] })).toBe(
    `PERMISSION_DENIED the debug info is not available for current identity: "spiffe://cluster.local/ns/${WEB.namespace}/sa/${WEB.name}"`,
  );
  expect(await ask(operator, { typeUrl: "istio.io/debug", resourceNames: ["syncz"] }, true)).toBe(
    "UNAUTHENTICATED authentication required",
  );
});

describe("the trust domain of the mesh file", () => {
  beforeEach(needs("openssl"));

  const setMesh = async (server: DiscoveryServer, text: string) => {
    const before = server.discovery.snapshot.mesh;
    writeFileSync(join(server.folder, "mesh.yaml"), text);
    await expect.poll(() => server.discovery.snapshot.mesh).not.toBe(before);
  };

  test("counts for client certificates as soon as it changes, and its aliases do", async () => {
    const server = await start();
    const tls = { ca: server.discovery.rootPem, ...(await certificate(server)) };
    expect(await attempt(server, { tls })).toBe("served");
    await setMesh(server, "trustDomain: other.example");
    expect(await attempt(server, { tls })).toMatch(/^UNAVAILABLE /);
    await expect.poll(() => server.log.text()).toContain("no cert pool found for trust domain cluster.local");
    expect(await attempt(server, { tls: { ...tls, ...(await certificate(server)) } })).toBe("served");
    await setMesh(server, "trustDomain: other.example\ntrustDomainAliases: [cluster.local]");
    expect(await attempt(server, { tls })).toBe("served");
  });

  test("counts in the same way with a serving certificate from files", async () => {
    const files = await makeServingFiles((await start()).folder);
    const server = await start({ servingFiles: files });
    const tls = { ca: files.caPem, ...(await certificate(server, files.caPem)) };
    expect(await attempt(server, { tls })).toBe("served");
    await setMesh(server, "trustDomain: other.example");
    expect(await attempt(server, { tls })).toMatch(/^UNAVAILABLE /);
  });
});

describe("a serving certificate from files", () => {
  beforeEach(needs("openssl"));

  test("is shown to clients, who may still use certificates of the own CA; missing files fail the start", async () => {
    const first = await start();
    const files = await makeServingFiles(first.folder);
    const server = await start({ servingFiles: files });
    const own = await certificate(server, files.caPem);
    expect(await attempt(server, { tls: { ca: files.caPem, ...own } })).toBe("served");
    await expect(
      startDiscoveryServer({ servingFiles: { ...files, key: `${files.key}.missing` } }),
    ).rejects.toMatchObject({
      code: "invalid-files",
    });
  });

  test("that does not fit its key fails the start, and later on leaves the last good one in force", async () => {
    const first = await start();
    const files = await makeServingFiles(first.folder);
    const server = await start({ servingFiles: files });
    const tls = { ca: files.caPem, ...(await certificate(server, files.caPem)) };
    copyFileSync(`${first.folder}/s-ca.key`, files.key);
    expect(await attempt(server, { tls })).toBe("served");
    await expect(startDiscoveryServer({ servingFiles: files })).rejects.toMatchObject({ code: "invalid-files" });
    for (const path of [files.certificate, files.key]) {
      writeFileSync(path, "");
      expect(await attempt(server, { tls })).toBe("served");
    }
  });
});

async function makeServingFiles(folder: string) {
  const path = (name: string) => `${folder}/${name}`;
  openssl([
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-days",
    "2",
    "-subj",
    "/CN=ca",
    "-keyout",
    path("s-ca.key"),
    "-out",
    path("s-ca.crt"),
  ]);
  openssl([
    "req",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-subj",
    "/CN=server",
    "-keyout",
    path("s.key"),
    "-out",
    path("s.csr"),
  ]);
  writeFileSync(path("s.ext"), "subjectAltName=DNS:localhost,DNS:istiod.istio-system.svc");
  openssl([
    "x509",
    "-req",
    "-in",
    path("s.csr"),
    "-CA",
    path("s-ca.crt"),
    "-CAkey",
    path("s-ca.key"),
    "-CAcreateserial",
    "-days",
    "2",
    "-extfile",
    path("s.ext"),
    "-out",
    path("s.crt"),
  ]);
  return {
    certificate: path("s.crt"),
    key: path("s.key"),
    ca: path("s-ca.crt"),
    caPem: readFileSync(path("s-ca.crt"), "utf8"),
  };
}
