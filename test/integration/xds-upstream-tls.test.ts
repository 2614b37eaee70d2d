import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { connectThroughProxy } from "../../src/net/http-proxy/proxy-route.ts";
import { tlsLimits } from "../../src/net/tls/compliance-policy.ts";
import { createEnvReader } from "../../src/settings/env-reader.ts";
import { generationRules } from "../../src/settings/generations.ts";
import { readXdsSettings } from "../../src/settings/xds.ts";
import { createUpstreamTls } from "../../src/xds-proxy/upstream-tls.ts";
import { makeCertificate, type TestCertificate } from "../support/certs/certificates.ts";
import { socketFolder } from "../support/files/socket-folder.ts";
import { startConnectProxy } from "../support/net/connect-proxy.ts";
import { openRawAds } from "../support/xds/ads-client.ts";
import { type ControlPlane, startControlPlane } from "../support/xds/control-plane.ts";
import { ask, CDS, push, startTestProxy } from "../support/xds/harness.ts";

const envoy = { agent: "envoy" };
const IDENTITY = "spiffe://cluster.local/ns/ns/sa/vm";

/** Files as a VM has them, a control plane with a certificate of that root, and the agent's TLS towards it. */
async function setUp(policy = "") {
  const folder = mkdtempSync(join(tmpdir(), "xds-tls-"));
  const root = await makeCertificate({ organization: "root" });
  const server = await makeCertificate({
    by: root,
    isCa: false,
    hosts: ["127.0.0.1", "::1", "istiod.istio-system.svc"],
  });
  const file = (name: string) => join(folder, name);
  const write = (name: string, text: string) => writeFileSync(file(name), text);
  const identity = async (options: Parameters<typeof makeCertificate>[0] = {}) => {
    const made = await makeCertificate({ by: root, isCa: false, hosts: [IDENTITY], ...options });
    write("cert-chain.pem", made.pem);
    write("key.pem", made.keyPem);
    return made;
  };
  write("root-cert.pem", root.pem);
  const warnings: string[] = [];
  const log = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
  const tls = async (address: string, mounted = false) => {
    const proxyMetadata = {
      ISTIO_META_TLS_CLIENT_CERT_CHAIN: file("cert-chain.pem"),
      ISTIO_META_TLS_CLIENT_KEY: file("key.pem"),
    };
    const sources = {
      provCert: mounted ? "" : folder,
      fileMountedCerts: mounted,
      pilotCertProvider: "istiod",
      usesKubernetesRoots: false,
    };
    const env = createEnvReader(
      { XDS_ROOT_CA: file("root-cert.pem"), COMPLIANCE_POLICY: policy },
      "master",
      () => undefined,
    );
    const proxyConfig = {
      discoveryAddress: address,
      controlPlaneAuthPolicy: "MUTUAL_TLS",
      ...(mounted && { proxyMetadata }),
    } as const;
    const options = readXdsSettings(env, proxyConfig, generationRules("master"), sources, existsSync).tls;
    if (options === undefined) throw new Error("no TLS options");
    return {
      serverName: options.serverName,
      rootFile: file("root-cert.pem"),
      tls: await createUpstreamTls(options, log),
    };
  };
  return { root, server, write, identity, warnings, tls, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

const serve = (
  root: TestCertificate,
  { keyPem, pem }: TestCertificate,
  checkClient = false,
  host?: string,
): Promise<ControlPlane> =>
  startControlPlane({
    credentials: grpc.ServerCredentials.createSsl(
      Buffer.from(root.pem),
      [{ private_key: Buffer.from(keyPem), cert_chain: Buffer.from(pem) }],
      checkClient,
    ),
    ...(host !== undefined && { host }),
  });

test.each([
  { host: "127.0.0.1", authority: "127.0.0.1" },
  { host: "[::1]", authority: "::1" },
])("a control plane at $host is checked by its address, which is the authority", async ({ host, authority }) => {
  using files = await setUp();
  using socket = socketFolder();
  await using server = await serve(files.root, files.server, false, host);
  const { tls, serverName } = await files.tls(server.address);
  await using _running = await startTestProxy(server.address, socket.path, {
    upstream: { tls, authority: serverName },
  });
  await using client = openRawAds(socket.path, "delta");
  client.send(ask("delta", CDS, envoy));
  const stream = await server.stream(0);
  await stream.received(1);
  expect(stream.host).toBe(authority);
});

test.each(["sotw", "delta"] as const)(
  "roots are read for each connection: a wrong file fails a %s stream, the right one is used by the next, streams live on",
  async (kind) => {
    using files = await setUp();
    using socket = socketFolder();
    await using server = await serve(files.root, files.server);
    const stranger = await makeCertificate({ organization: "stranger" });
    files.write("root-cert.pem", stranger.pem);
    const { tls, serverName } = await files.tls(server.address);
    await using _running = await startTestProxy(server.address, socket.path, {
      upstream: { tls, authority: serverName },
    });
    {
      await using refused = openRawAds(socket.path, kind);
      refused.send(ask(kind, CDS, envoy));
      expect(await refused.status).toMatchObject({
        code: grpc.status.UNAVAILABLE,
        details: expect.stringMatching(/cannot connect to .*(verify|self.signed|certificate)/),
      });
    }
    files.write("root-cert.pem", files.root.pem);
    await using first = openRawAds(socket.path, kind);
    first.send(ask(kind, CDS, envoy));
    const stream = await server.stream(0);
    // Half written: the last good roots are used, with a warning.
    const garbled = files.root.pem.replace(/^M.*$/m, "AAAA");
    for (const [index, half] of ["", files.root.pem.slice(0, 200), garbled].entries()) {
      files.write("root-cert.pem", half);
      await using second = openRawAds(socket.path, kind);
      second.send(ask(kind, CDS, envoy));
      await (await server.stream(index + 1)).received(1);
      const notices = files.warnings.filter((text) => text.startsWith("Failed to init xds proxy dial options"));
      expect(notices).toHaveLength(index + 1);
    }
    stream.send(push(kind, CDS, ["still"]));
    await first.received(1);
  },
);

test("a bad certificate in the bundle does not cost the others: the control plane is connected to, and the bad one is reported", async () => {
  using files = await setUp();
  using socket = socketFolder();
  await using server = await serve(files.root, files.server);
  files.write("root-cert.pem", `-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n${files.root.pem}`);
  const { tls, serverName, rootFile } = await files.tls(server.address);
  await using _running = await startTestProxy(server.address, socket.path, {
    upstream: { tls, authority: serverName },
  });
  await using client = openRawAds(socket.path, "delta");
  client.send(ask("delta", CDS, envoy));
  await (await server.stream(0)).received(1);
  expect(files.warnings.filter((text) => text.includes("root"))).toEqual([
    `some root certificates in ${rootFile} are not used: certificate 1: failed to parse X.509 certificate`,
  ]);
});

describe("the client certificate is read for each handshake", () => {
  const open = async (kind: "ok" | "fails", files: Awaited<ReturnType<typeof setUp>>, mounted = false) => {
    using socket = socketFolder();
    await using server = await serve(files.root, files.server, true);
    const { tls } = await files.tls(server.address, mounted);
    await using _running = await startTestProxy(server.address, socket.path, { upstream: { tls } });
    await using client = openRawAds(socket.path, "sotw");
    client.send(ask("sotw", CDS, envoy));
    if (kind === "ok") return void (await (await server.stream(0)).received(1));
    const { code, details } = await client.status;
    expect(code).toBe(grpc.status.UNAVAILABLE);
    return details;
  };

  test.each([
    { from: "PROV_CERT", mounted: false },
    { from: "the proxy's metadata", mounted: true },
  ])("a good one from $from is shown, and a renewed one after it", async ({ mounted }) => {
    using files = await setUp();
    await files.identity();
    await open("ok", files, mounted);
    await files.identity();
    await open("ok", files, mounted);
    expect(files.warnings).toEqual([]);
  });

  test.each([
    { what: "missing", warns: /^cannot parse the cert chain, using token instead: / },
    { what: "no certificate", warns: /^cannot parse the cert chain, using token instead: / },
    { what: "expired", warns: /^cert expired, using token instead$/ },
  ])("one that is $what is not shown, with a warning", async ({ what, warns }) => {
    using files = await setUp();
    if (what === "expired") await files.identity({ fromMs: -7_200_000, toMs: -3_600_000 });
    if (what === "no certificate") files.write("cert-chain.pem", "nothing");
    // The server insists on a certificate, so the connection ends.
    await open("fails", files);
    expect(files.warnings[0]).toMatch(warns);
  });

  test("a key of another certificate fails the handshake", async () => {
    using files = await setUp();
    await files.identity();
    files.write("key.pem", (await makeCertificate()).keyPem);
    expect(await open("fails", files)).toMatch(/key values mismatch/);
  });
});

test.each([
  { policy: "", offered: "TLSv1.3" },
  { policy: "fips-140-2", offered: "TLSv1.2" },
  { policy: "fips-140-3", offered: "TLSv1.3" },
])("compliance policy $policy: the handshake is $offered with an allowed cipher", async ({ policy, offered }) => {
  using files = await setUp(policy);
  const seen = new Promise<{ version: string | null; cipher: string }>((resolve) => {
    const server = createTlsServer(
      { key: files.server.keyPem, cert: files.server.pem, ALPNProtocols: ["h2"], ecdhCurve: "auto" },
      (socket: TLSSocket) => {
        resolve({
          version: socket.getProtocol(),
          cipher: socket.getCipher().standardName,
        });
        socket.destroy();
        server.close();
      },
    );
    server.listen(0, "127.0.0.1", async () => {
      const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
      const { tls } = await files.tls(address);
      await using channel = createGrpcChannel(address, { tls, connectTimeoutMs: 3000 });
      await channel.connect().catch(() => undefined);
    });
  });
  const { version, cipher } = await seen;
  expect(version).toBe(offered);
  expect(cipher).toMatch(/AES_(128|256)_GCM/);
});

test("a policy this runtime cannot follow is reported at once, or is followed", () => {
  const hasMlKem = process.versions.openssl >= "3.5";
  if (hasMlKem) expect(tlsLimits("pqc")).toMatchObject({ minVersion: "TLSv1.3", ecdhCurve: "X25519MLKEM768" });
  else
    expect(() => tlsLimits("pqc")).toThrow(
      /^COMPLIANCE_POLICY pqc needs X25519MLKEM768, which OpenSSL .* does not have$/,
    );
  expect(tlsLimits("something else")).toEqual({ minVersion: "TLSv1.2" });
});

test("a reset ends streams cleanly, and the next one shows the certificate that is there then", async () => {
  using files = await setUp();
  using socket = socketFolder();
  await using server = await serve(files.root, files.server);
  const { tls, serverName } = await files.tls(server.address);
  await using running = await startTestProxy(server.address, socket.path, { upstream: { tls, authority: serverName } });
  await using client = openRawAds(socket.path, "sotw");
  client.send(ask("sotw", CDS, envoy));
  const stream = await server.stream(0);
  stream.send(push("sotw", CDS, ["a"]));
  await client.received(1);
  running.proxy.reset();
  expect((await client.status).code).toBe(grpc.status.OK);
  await using next = openRawAds(socket.path, "sotw");
  next.send(ask("sotw", CDS, envoy));
  (await server.stream(1)).send(push("sotw", CDS, ["b"]));
  await next.received(1);
});

describe("through the proxy of HTTPS_PROXY", () => {
  test("the stream goes to the name as configured, with TLS inside and the proxy's login", async () => {
    using files = await setUp();
    using socket = socketFolder();
    await using server = await serve(files.root, files.server);
    await using proxy = await startConnectProxy(server.address);
    const address = "istiod.istio-system.svc:15012";
    const connect = connectThroughProxy(address, {
      httpsProxy: `http://me:p%40ss@127.0.0.1:${proxy.port}`,
      noProxy: "",
    });
    const { tls } = await files.tls(address);
    await using _running = await startTestProxy(address, socket.path, {
      upstream: { tls, ...(connect && { connect }) },
    });
    await using client = openRawAds(socket.path, "delta");
    client.send(ask("delta", CDS, envoy));
    const stream = await server.stream(0);
    stream.send(push("delta", CDS, ["a"]));
    await client.received(1);
    expect(proxy.asked).toEqual([{ target: address, login: `Basic ${Buffer.from("me:p@ss").toString("base64")}` }]);
  });

  test("a refusal is reported without the login", async () => {
    using socket = socketFolder();
    await using proxy = await startConnectProxy("127.0.0.1:1", 403);
    const httpsProxy = `me:secret@127.0.0.1:${proxy.port}`;
    const connect = connectThroughProxy("istiod.mesh:15012", { httpsProxy, noProxy: "" });
    await using _running = await startTestProxy("istiod.mesh:15012", socket.path, {
      upstream: { ...(connect && { connect }) },
    });
    await using client = openRawAds(socket.path, "delta");
    client.send(ask("delta", CDS, envoy));
    const { code, details } = await client.status;
    expect(code).toBe(grpc.status.UNAVAILABLE);
    expect(details).toContain(`the HTTPS proxy 127.0.0.1:${proxy.port} refused: 403`);
    expect(details).not.toContain("secret");
  });

  test.each([
    { address: "localhost:15012", httpsProxy: "p:1", noProxy: "" },
    { address: "istiod.mesh:15012", httpsProxy: "", noProxy: "" },
    { address: "istiod.mesh:15012", httpsProxy: "p:1", noProxy: "mesh" },
  ])("$address goes there directly with HTTPS_PROXY=$httpsProxy NO_PROXY=$noProxy", ({ address, ...environment }) => {
    expect(connectThroughProxy(address, environment)).toBeUndefined();
  });

  test.each(["socks4://p:1", "ftp://p:1", "http://", "me:50%secret@p:1"])("%s stops the start", (httpsProxy) => {
    const environment = { httpsProxy, noProxy: "" };
    const connect = () => connectThroughProxy("istiod.mesh:15012", environment);
    expect(connect).toThrow(/^HTTPS_PROXY is not the address of a proxy; allowed is \[http:\/\/\|https:/);
    expect(connect).not.toThrow("secret");
  });
});
