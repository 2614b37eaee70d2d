import { credentials, Metadata as JsMetadata, makeClientConstructor, type ServiceError, status } from "@grpc/grpc-js";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import "../support/no-open-handles.ts";
import { CloseStack } from "../../src/base/close-stack.ts";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import { Secret } from "../../src/base/secret.ts";
import { createJwtAuthenticator } from "../../src/ca/authenticators/jwt.ts";
import { certificateService } from "../../src/ca/certificate-service.ts";
import { type DevelopmentIssuer, openDevelopmentIssuer } from "../../src/ca/development-issuer.ts";
import { declareCaServerMetrics } from "../../src/ca/metrics.ts";
import { type CaServer, type CaServerOptions, startCaServer } from "../../src/ca/start-ca-server.ts";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { defineMethod } from "../../src/grpc/method.ts";
import { startGrpcServer } from "../../src/grpc/server/start-grpc-server.ts";
import { addressText } from "../../src/net/listen/listen.ts";
import {
  istioCertificateRequest,
  istioCertificateResponse,
  requestMetadata,
} from "../../src/protobuf/wire/istio-ca.ts";
import { parsePemCertificate } from "../../src/protocol/x509/certificate.ts";
import { buildCsr } from "../../src/protocol/x509/csr.ts";
import { encodePrivateKey, generateKeyPair, type KeyPair } from "../../src/protocol/x509/key-pair.ts";
import { startTestClient, WEB_IDENTITY } from "../support/certs/ca-client-setup.ts";
import { makeCertificate } from "../support/certs/certificates.ts";
import { openssl } from "../support/certs/openssl.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/files/temporary-folder.ts";
import { type RecordedLog, recordLog } from "../support/log/recording-log.ts";
import { needs } from "../support/needs.ts";
import { startHttpServer } from "../support/net/http-server.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

let keys: KeyPair;
let csr: string;
beforeAll(async () => {
  keys = await generateKeyPair({ type: "ecdsa", curve: "P256" });
  csr = await buildCsr(keys, { hosts: [WEB_IDENTITY] });
});

interface Running {
  readonly server: CaServer;
  readonly directory: TemporaryFolder;
  readonly issuer: DevelopmentIssuer;
  readonly endpoint: string;
  readonly rootFile: string;
  readonly registry: MetricRegistry;
  readonly log: RecordedLog;
  token(lifetimeSeconds?: number): Promise<string>;
}

async function startServer(options: Partial<CaServerOptions> = {}): Promise<Running> {
  const directory = temporaryFolder();
  opened.add(directory);
  const issuer = await openDevelopmentIssuer(directory.file("tokens"));
  const registry = new MetricRegistry();
  const log = recordLog();
  const server = await startCaServer({
    directory: directory.file("ca"),
    trustDomain: "cluster.local",
    listen: { host: "127.0.0.1", port: 0 },
    hosts: ["127.0.0.1", "localhost"],
    metrics: declareCaServerMetrics(registry),
    log,
    jwtRules: [issuer.rule],
    selfSigned: { key: { type: "ecdsa", curve: "P256" } },
    ...options,
  });
  opened.add(server);
  const port = "port" in server.address ? server.address.port : 0;
  const account = { namespace: "default", name: "web" };
  return {
    server,
    directory,
    issuer,
    endpoint: `127.0.0.1:${port}`,
    rootFile: directory.file("ca/root-cert.pem"),
    registry,
    log,
    token: async (lifetimeSeconds = 60) => (await issuer.issue(account, lifetimeSeconds)).reveal(),
  };
}

const connect = async (
  running: Running,
  options: { readonly token?: string; readonly clientDirectory?: string } = {},
) => {
  const { token } = options;
  const tokens = {
    identityProvider: "",
    fetch: async () => (token === undefined ? undefined : new Secret(token)),
    stop: async () => undefined,
  };
  const client = await startTestClient({
    endpoint: running.endpoint,
    rootFile: running.rootFile,
    tokens,
    clientCertificateDirectory: options.clientDirectory,
  });
  opened.add(client);
  return client;
};

describe("a workload with a token", () => {
  test("gets a certificate for the token's service account", async () => {
    const running = await startServer();
    const client = await connect(running, { token: await running.token() });
    const signed = await client.sign();
    expect(parsePemCertificate(signed.chain[0] ?? "").names).toEqual([{ kind: "uri", value: WEB_IDENTITY }]);
    expect(running.registry.render()).toContain("citadel_server_csr_count 1\n");
    expect(running.registry.render()).toContain("citadel_server_success_cert_issuance_count 1\n");
    expect(running.registry.render()).toMatch(/citadel_server_root_cert_expiry_seconds 3\d{8}/);
  });

  test("cannot have another account's certificate by asking for it", async () => {
    const running = await startServer();
    const token = (await running.issuer.issue({ namespace: "default", name: "other" }, 60)).reveal();
    await expect((await connect(running, { token })).sign()).rejects.toMatchObject({ code: "wrong-san" });
  });

  test.each([
    { what: "no token", token: async () => undefined },
    { what: "an expired token", token: (running: Running) => running.token(-1) },
    { what: "a token that is none", token: async () => "a.b.c" },
    {
      what: "a token of another issuer's key",
      token: async () => {
        const elsewhere = temporaryFolder();
        opened.add(elsewhere);
        const issuer = await openDevelopmentIssuer(elsewhere.path);
        return (await issuer.issue({ namespace: "default", name: "web" }, 60)).reveal();
      },
    },
  ])("and with $what instead is refused without a reason", async ({ token }) => {
    const running = await startServer();
    const text = await token(running);
    const client = await connect(running, text === undefined ? {} : { token: text });
    await expect(client.sign()).rejects.toMatchObject({
      code: "unauthenticated",
      message: expect.stringContaining("code = Unauthenticated desc = request authenticate failure"),
    });
    expect(running.registry.render()).toContain("citadel_server_authentication_failure_count 1");
    expect(running.log.text()).toContain("failed to authenticate request");
    if (text !== undefined) expect(running.log.text()).not.toContain(text);
  });
});

describe("keys at an address", () => {
  const startKeys = async (jwks: () => string) => {
    let fetches = 0;
    const http = await startHttpServer((request, response) => {
      if (request.url === "/.well-known/openid-configuration") {
        const issuer = `http://${request.headers.host}`;
        return void response.end(JSON.stringify({ issuer, jwks_uri: `${issuer}/keys` }));
      }
      fetches += 1;
      response.end(jwks());
    });
    opened.add(http);
    return { uri: `${http.url}/keys`, url: http.url, fetches: () => fetches };
  };

  test("are fetched once for many tokens, and again for a key that is not there", async () => {
    const directory = temporaryFolder();
    opened.add(directory);
    const issuer = await openDevelopmentIssuer(directory.path);
    let jwks = JSON.stringify({ keys: [] });
    const keys = await startKeys(() => jwks);
    const { jwks: real, ...rule } = issuer.rule;
    const running = await startServer({ jwtRules: [{ ...rule, jwksUri: keys.uri }] });
    const token = (await issuer.issue({ namespace: "default", name: "web" }, 60)).reveal();
    const client = await connect(running, { token });
    await expect(client.sign()).rejects.toMatchObject({ code: "unauthenticated" });
    expect(keys.fetches()).toBe(1);
    jwks = real ?? "";
    const restarted = await startServer({ jwtRules: [{ ...rule, jwksUri: keys.uri }] });
    const again = await connect(restarted, { token });
    await Promise.all([again.sign(), again.sign(), again.sign()]);
    expect(keys.fetches()).toBe(2);
  });

  test("are found through the issuer's discovery document", async () => {
    const directory = temporaryFolder();
    opened.add(directory);
    let jwks = "";
    const keys = await startKeys(() => jwks);
    const issuer = await openDevelopmentIssuer(directory.path, { issuer: keys.url });
    jwks = issuer.rule.jwks ?? "";
    const running = await startServer({ jwtRules: [{ issuer: keys.url, audiences: ["istio-ca"] }] });
    const token = (await issuer.issue({ namespace: "default", name: "web" }, 60)).reveal();
    await (await connect(running, { token })).sign();
    expect(keys.fetches()).toBe(1);
    // Another issuer's token is refused before any key is asked for.
    await expect((await connect(running, { token: await running.token() })).sign()).rejects.toMatchObject({
      code: "unauthenticated",
    });
    expect(keys.fetches()).toBe(1);
  });

  test("that cannot be discovered fail the start, and the port stays free", async () => {
    const starting = startServer({ jwtRules: [{ issuer: "http://127.0.0.1:1", audiences: [] }] });
    await expect(starting).rejects.toMatchObject({ code: "unavailable" });
  });
});

describe("a workload with a certificate", () => {
  const grant = async (running: Running) => {
    const client = await connect(running, { token: await running.token() });
    const { chain } = await client.sign();
    const key = encodePrivateKey(client.keys.privateKey, true).reveal();
    running.directory.writeAll({ "key.pem": key, "cert-chain.pem": chain.join("") });
  };

  test("renews it without a token", async () => {
    const running = await startServer();
    await grant(running);
    const client = await connect(running, { clientDirectory: running.directory.path });
    const { chain } = await client.sign();
    expect(parsePemCertificate(chain[0] ?? "").names).toEqual([{ kind: "uri", value: WEB_IDENTITY }]);
  });

  test("of another CA is refused", async () => {
    const running = await startServer();
    const foreign = await makeCertificate({ isCa: false, hosts: [WEB_IDENTITY] });
    running.directory.writeAll({ "key.pem": foreign.keyPem, "cert-chain.pem": foreign.pem });
    const client = await connect(running, { clientDirectory: running.directory.path, token: await running.token() });
    await expect(client.sign()).rejects.toMatchObject({ code: "unreachable" });
    await expect.poll(() => running.log.text()).toContain("client certificate does not verify");
  });

  test("whose trust domain is another is refused", async () => {
    const running = await startServer();
    const issued = await running.server.authority.issueServer(["spiffe://elsewhere/ns/default/sa/web"]);
    running.directory.writeAll({ "key.pem": issued.keyPem.reveal(), "cert-chain.pem": issued.chainPem });
    const client = await connect(running, { clientDirectory: running.directory.path });
    await expect(client.sign()).rejects.toMatchObject({ code: "unreachable" });
    await expect.poll(() => running.log.text()).toContain("no cert pool found for trust domain elsewhere");
  });
});

describe("another gRPC implementation as the client", () => {
  const Service = makeClientConstructor(
    {
      createCertificate: {
        path: "/istio.v1.auth.IstioCertificateService/CreateCertificate",
        requestStream: false,
        responseStream: false,
        requestSerialize: (request: Parameters<typeof istioCertificateRequest.encode>[0]) =>
          istioCertificateRequest.encode(request),
        requestDeserialize: (bytes: Buffer) => istioCertificateRequest.decode(bytes),
        responseSerialize: (answer: Parameters<typeof istioCertificateResponse.encode>[0]) =>
          istioCertificateResponse.encode(answer),
        responseDeserialize: (bytes: Buffer) => istioCertificateResponse.decode(bytes),
      },
    },
    "IstioCertificateService",
  );

  const call = async (running: Running, request: Parameters<typeof istioCertificateRequest.encode>[0]) => {
    const root = Buffer.from(running.server.authority.material.rootPem);
    // The library would send the address as a server name, which TLS does not allow.
    const named = { "grpc.ssl_target_name_override": "localhost" };
    const client = new Service(running.endpoint, credentials.createSsl(root), named);
    opened.defer(() => client.close());
    const metadata = new JsMetadata();
    metadata.set("authorization", `Bearer ${await running.token()}`);
    return new Promise<readonly string[]>((resolve, reject) => {
      // biome-ignore lint/complexity/useLiteralKeys: the constructor's type knows no method names
      client["createCertificate"]?.(
        request,
        metadata,
        (failure: ServiceError | null, answer: { certChain: readonly string[] }) =>
          failure === null ? resolve(answer.certChain) : reject(failure),
      );
    });
  };

  test.each([
    {
      what: "a CSR that is none",
      request: () => ({ csr: "x" }),
      code: status.INVALID_ARGUMENT,
      details: "CSR signing error (certificate signing request is not properly encoded)",
      label: "CSR_ERROR",
    },
    {
      what: "too long a life",
      request: () => ({ csr, validityDuration: 91n * 86_400n }),
      code: status.INVALID_ARGUMENT,
      details: "CSR signing error (requested TTL 2184h0m0s is greater than the max allowed TTL 2160h0m0s)",
      label: "TTL_ERROR",
    },
  ])("is reported $what", async ({ request, code, details, label }) => {
    const running = await startServer();
    await expect(call(running, request())).rejects.toMatchObject({ code, details });
    expect(running.registry.render()).toContain(`citadel_server_csr_sign_err_count{error="${label}"} 1`);
  });

  test("is not given another's identity", async () => {
    const running = await startServer();
    const metadata = requestMetadata({ ImpersonatedIdentity: "spiffe://cluster.local/ns/kube-system/sa/admin" });
    await expect(call(running, { csr, metadata })).rejects.toMatchObject({
      code: status.UNAUTHENTICATED,
      details: "request impersonation authentication failure",
    });
  });

  describe("and openssl as the reader", () => {
    beforeEach(needs("openssl"));

    test("see a certificate of the documented shape that verifies", async () => {
      const running = await startServer();
      const [leaf = "", root = ""] = await call(running, { csr, validityDuration: 3600n });
      expect(
        openssl(["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", "@root", "@leaf"], { leaf, root }),
      ).toMatch(/leaf: OK/);
      const text = openssl(["x509", "-noout", "-text", "-in", "@leaf"], { leaf });
      expect(text).toContain("Version: 3 (0x2)");
      expect(text).toMatch(/Subject: *\n/);
      expect(text).toMatch(/Issuer: O ?= ?cluster\.local\n/);
      expect(text).toMatch(/Key Usage: critical\s+Digital Signature, Key Encipherment\n/);
      expect(text).toMatch(/Extended Key Usage: ?\s+TLS Web Server Authentication, TLS Web Client Authentication\n/);
      expect(text).toMatch(/Basic Constraints: critical\s+CA:FALSE\n/);
      expect(text).toMatch(/Authority Key Identifier: ?\s+[0-9A-F:]+/);
      expect(text).toMatch(
        /Subject Alternative Name: critical\s+URI:spiffe:\/\/cluster\.local\/ns\/default\/sa\/web\n/,
      );
      expect(text).not.toContain("Subject Key Identifier");
      const { notBefore, notAfter } = parsePemCertificate(leaf);
      expect(Math.round((notAfter.getTime() - notBefore.getTime()) / 1000)).toBe(3600 + 120);
      const rootText = openssl(["x509", "-noout", "-text", "-in", "@root"], { root });
      expect(rootText).toMatch(/Key Usage: critical\s+Certificate Sign\n/);
      expect(rootText).toMatch(/Basic Constraints: critical\s+CA:TRUE\n/);
      expect(rootText).not.toContain("Subject Alternative Name");
    });

    test("see the first identity as common name when the CSR had one", async () => {
      const running = await startServer();
      const named = await buildCsr(keys, { hosts: [], name: { commonName: "anything" } });
      const [leaf = ""] = await call(running, { csr: named });
      expect(openssl(["x509", "-noout", "-subject", "-in", "@leaf"], { leaf })).toContain(`CN = ${WEB_IDENTITY}`);
    });
  });
});

describe("mounted on a plaintext server", () => {
  test.each([
    { allowsPlaintext: false, code: "unauthenticated" },
    { allowsPlaintext: true, code: undefined },
  ])("tokens count only where that is allowed: $allowsPlaintext", async ({ allowsPlaintext, code }) => {
    const running = await startServer();
    const { issuer, server } = running;
    const authenticator = await createJwtAuthenticator({ rule: issuer.rule, trustDomain: () => "cluster.local" });
    const service = certificateService({
      authority: server.authority,
      authenticators: [authenticator],
      metrics: declareCaServerMetrics(new MetricRegistry()),
      log: recordLog(),
      allowsPlaintext,
    });
    const listen = { host: "127.77.0.2", port: 15010 };
    opened.add(await startGrpcServer({ listen, methods: [service], log: recordLog() }));
    const client = await connect({ ...running, endpoint: "127.77.0.2:15010" }, { token: await running.token() });
    if (code === undefined) await client.sign();
    else await expect(client.sign()).rejects.toMatchObject({ code });
  });

  test("an impersonation that the control plane allows gives the other identity", async () => {
    const running = await startServer();
    const asked: string[] = [];
    const service = certificateService({
      authority: running.server.authority,
      authenticators: [
        {
          name: "anybody",
          authenticate: async () => ({ identities: ["spiffe://cluster.local/ns/n/sa/node"], source: "test" }),
        },
      ],
      metrics: declareCaServerMetrics(new MetricRegistry()),
      log: recordLog(),
      allowsPlaintext: true,
      impersonationProblem: async (_caller, identity) => {
        asked.push(identity);
        return identity === WEB_IDENTITY ? undefined : "elsewhere";
      },
    });
    const server = opened.add(
      await startGrpcServer({ listen: { host: "127.0.0.1", port: 0 }, methods: [service], log: recordLog() }),
    );
    await using channel = createGrpcChannel(addressText(server.address));
    const method = defineMethod({
      path: "/istio.v1.auth.IstioCertificateService/CreateCertificate",
      kind: "unary",
      request: istioCertificateRequest,
      response: istioCertificateResponse,
    });
    const ask = async (identity: string) =>
      (await channel.unary(method, { csr, metadata: requestMetadata({ ImpersonatedIdentity: identity }) })).certChain ??
      [];
    const [leaf = ""] = await ask(WEB_IDENTITY);
    expect(parsePemCertificate(leaf).names).toEqual([{ kind: "uri", value: WEB_IDENTITY }]);
    await expect(ask("spiffe://cluster.local/ns/n/sa/other")).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    expect(asked).toHaveLength(2);
  });
});

describe("life of the server", () => {
  test("a taken port fails the start and leaves nothing open", async () => {
    const running = await startServer();
    const port = Number(running.endpoint.split(":")[1]);
    await expect(startServer({ listen: { host: "127.0.0.1", port } })).rejects.toMatchObject({
      code: "address-in-use",
    });
  });

  test("stopping twice is the same as once, and the root is found again by the next start", async () => {
    const running = await startServer();
    const { rootPem } = running.server.authority.material;
    await Promise.all([running.server.stop(), running.server.stop()]);
    const again = await startServer({ directory: running.directory.file("ca") });
    expect(again.server.authority.material.rootPem).toBe(rootPem);
  });

  test("new signing material gives the port a new certificate, and workloads of the old one go on", async () => {
    const root = await makeCertificate({ organization: "root" });
    const first = await makeCertificate({ organization: "first", by: root });
    const files = (signer: typeof first) => ({
      "ca-cert.pem": signer.pem,
      "ca-key.pem": signer.keyPem,
      "root-cert.pem": root.pem,
      "cert-chain.pem": signer.pem,
    });
    const plugged = temporaryFolder({ files: files(first) });
    opened.add(plugged);
    const running = await startServer({ directory: plugged.path, debounceMs: 5 });
    const client = await connect(
      { ...running, rootFile: plugged.file("root-cert.pem") },
      { token: await running.token() },
    );
    expect((await client.sign()).chain[1]).toBe(first.pem);
    const second = await makeCertificate({ organization: "second", by: root });
    plugged.writeAll(files(second));
    await expect.poll(async () => (await client.sign()).chain[1]).toBe(second.pem);
    const fresh = await connect(
      { ...running, rootFile: plugged.file("root-cert.pem") },
      { token: await running.token() },
    );
    await fresh.sign();
    expect(running.log.text()).not.toContain("PRIVATE");
  });
});
