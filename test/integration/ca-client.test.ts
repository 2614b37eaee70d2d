import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect as connectTcp, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { Secret } from "../../src/base/secret.ts";
import { fileTokenFetcher } from "../../src/identity/tokens/create-token-fetcher.ts";
import type { TokenFetcher } from "../../src/identity/tokens/token-fetcher.ts";
import { startTestClient, type TestClient, WEB_IDENTITY } from "../support/certs/ca-client-setup.ts";
import { makeCertificate } from "../support/certs/certificates.ts";
import "../support/no-open-handles.ts";
import { type FakeCa, type FakeCaOptions, FakeCaStatus, startFakeCa } from "../support/certs/fake-ca.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const startCa = async (options?: FakeCaOptions): Promise<FakeCa> => opened.add(await startFakeCa(options));
const startClient = async (...[options]: Parameters<typeof startTestClient>): Promise<TestClient> =>
  opened.add(await startTestClient(options));
const connect = (ca: FakeCa, options: Partial<Parameters<typeof startTestClient>[0]> = {}) =>
  startClient({ endpoint: ca.endpoint, rootFile: ca.rootFile, ...options });
const token = (text: string): TokenFetcher => ({
  identityProvider: "",
  fetch: async () => new Secret(text),
  stop: async () => undefined,
});

describe("the way to the CA", () => {
  test("is another one when there is one to take", async () => {
    const ca = await startCa();
    let taken = 0;
    const client = await connect(ca, {
      connect: async (signal) => {
        taken += 1;
        const socket = connectTcp({ host: "127.0.0.1", port: ca.port, signal });
        await once(socket, "connect");
        return socket;
      },
    });
    expect((await client.sign()).chain).toHaveLength(2);
    expect(taken).toBe(1);
  });
});

describe("a request that the CA grants", () => {
  test("gives the chain, its root and the validity of the leaf", async () => {
    const ca = await startCa();
    const signed = await (await connect(ca)).sign();
    expect(signed.chain).toHaveLength(2);
    expect(signed.roots).toEqual([ca.rootPem]);
    const livesMs = signed.notAfter.getTime() - Date.now();
    expect(livesMs).toBeGreaterThan(3_500_000);
    expect(livesMs).toBeLessThanOrEqual(3_600_000);
  });

  test("carries the metadata of the protocol, the headers of the environment and no deadline", async () => {
    const ca = await startCa();
    const client = await connect(ca, { tokens: token("t0ken"), certSigner: "signer", headers: { X_Y: "=z" } });
    await client.sign();
    expect(ca.calls).toMatchObject([
      {
        ttlSeconds: 3600,
        certSigner: "signer",
        metadata: { clusterid: "Kubernetes", authorization: "Bearer t0ken", x_y: "=z" },
        authority: "127.0.0.1",
      },
    ]);
    expect(ca.calls[0]?.metadata).not.toHaveProperty("grpc-timeout");
    expect(ca.calls[0]?.metadata).not.toHaveProperty("x-retry-attempt");
  });

  test("cuts the fraction of the TTL", async () => {
    const ca = await startCa();
    const client = await connect(ca);
    await client.client.sign(client.csr, 5400.9, new AbortController().signal);
    expect(ca.calls[0]?.ttlSeconds).toBe(5400);
  });

  test("uses one connection for many requests", async () => {
    const ca = await startCa();
    const client = await connect(ca);
    await Promise.all([client.sign(), client.sign()]);
    await client.sign();
    expect(new Set(ca.calls.map((call) => call.peer)).size).toBe(1);
  });

  test("goes out in plaintext to port 15010 only", async () => {
    const ca = await startCa({ plaintext: true, host: "127.77.0.1", port: 15010 });
    const client = await startClient({ endpoint: ca.endpoint, rootFile: "/nowhere", clusterId: "" });
    await client.sign();
    expect(ca.calls).toMatchObject([{ authority: "127.77.0.1:15010", metadata: { clusterid: "" } }]);
    expect(client.log.text()).toContain("Debug mode or IP-secure network");
  });

  test("asks a local CA for istiod's name, and any CA for the name that overrides it", async () => {
    const istiod = await startCa({ hosts: ["istiod.istio-system.svc"] });
    await (await startClient({ endpoint: `localhost:${istiod.port}`, rootFile: istiod.rootFile })).sign();
    expect(istiod.calls[0]?.authority).toBe("istiod.istio-system.svc");
    const other = await startCa({ hosts: ["ca.example"] });
    await (await connect(other, { serverName: "ca.example" })).sign();
    expect(other.calls[0]?.authority).toBe("ca.example");
  });
});

describe("retries", () => {
  test.each(["RESOURCE_EXHAUSTED", "ABORTED", "INTERNAL", "UNAVAILABLE"] as const)(
    "%s is tried again on the same connection, with the attempt's number",
    async (status) => {
      const ca = await startCa();
      let failures = 2;
      ca.setAnswer((_call, sign) => {
        if (failures-- > 0) throw new FakeCaStatus(status);
        return sign();
      });
      const client = await connect(ca);
      await client.sign();
      expect(ca.calls.map((call) => call.metadata["x-retry-attempt"])).toEqual([undefined, "1", "2"]);
      expect(new Set(ca.calls.map((call) => call.csr)).size).toBe(1);
      expect(client.registry.render()).toContain('retries{request_type="csr"} 2');
      expect(client.log.lines.filter((line) => line.scope === "ca").map((line) => line.message)).toEqual([
        expect.stringMatching(/^ca request failed, starting attempt 1 in 1?\d\dms$/),
        expect.stringMatching(/^ca request failed, starting attempt 2 in [12]\d\dms$/),
      ]);
    },
  );

  test.each([
    { status: "UNKNOWN", code: "rejected" },
    { status: "INVALID_ARGUMENT", code: "rejected" },
    { status: "CANCELLED", code: "cancelled" },
    { status: "DEADLINE_EXCEEDED", code: "timeout" },
    { status: "PERMISSION_DENIED", code: "unauthenticated" },
    { status: "UNAUTHENTICATED", code: "unauthenticated" },
    { status: "UNIMPLEMENTED", code: "rejected" },
  ] as const)("$status is final and becomes $code", async ({ status, code }) => {
    const ca = await startCa({
      answer: () => {
        throw new FakeCaStatus(status, "why");
      },
    });
    const client = await connect(ca);
    await expect(client.sign()).rejects.toMatchObject({
      code,
      message: expect.stringMatching(/^CA at 127\.0\.0\.1:\d+: create certificate: rpc error: code = \w+ desc = why$/),
    });
    expect(ca.calls).toHaveLength(1);
  });

  test("five attempts are all, and the last status is reported", async () => {
    const ca = await startCa({
      answer: () => {
        throw new FakeCaStatus("UNAVAILABLE", "overloaded");
      },
    });
    await expect((await connect(ca)).sign()).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringContaining("overloaded"),
    });
    expect(ca.calls).toHaveLength(5);
  });

  test("stop when the caller gives up", async () => {
    const ca = await startCa({
      answer: () => {
        throw new FakeCaStatus("UNAVAILABLE");
      },
    });
    const client = await connect(ca);
    const stop = new AbortController();
    const signing = client.sign(stop.signal);
    await expect.poll(() => ca.calls.length).toBeGreaterThan(0);
    stop.abort();
    await expect(signing).rejects.toMatchObject({ code: "cancelled" });
    expect(ca.calls.length).toBeLessThan(5);
  });
});

describe("a CA in trouble", () => {
  test("that is down is named, and serves the next request once it is up", async () => {
    await using directory = temporaryFolder();
    const first = await startFakeCa({ directory: directory.path });
    await first.stop();
    const client = await startClient({ endpoint: first.endpoint, rootFile: first.rootFile });
    await expect(client.sign()).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringContaining(`CA at ${first.endpoint}: create certificate: rpc error: code = Unavailable`),
    });
    await startCa({ directory: directory.path, port: first.port });
    expect((await client.sign()).chain).toHaveLength(2);
  });

  test("that hangs costs one attempt's time and no more", async () => {
    const ca = await startCa({ answer: () => new Promise(() => undefined) });
    const client = await connect(ca, { attemptTimeoutMs: 1_000 });
    await expect(client.sign()).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringContaining("no answer within 1000 ms"),
    });
    expect(ca.calls).toHaveLength(1);
    await expect.poll(() => ca.calls[0]?.cancelled.aborted).toBe(true);
    ca.setAnswer((_call, sign) => sign());
    await client.sign();
  });

  test("that accepts connections and says nothing times out too", async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => void sockets.add(socket));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    opened.defer(async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => silent.close(resolve));
    });
    const address = silent.address();
    const port = typeof address === "object" ? address?.port : 0;
    const ca = await startCa();
    const options = { endpoint: `127.0.0.1:${port}`, rootFile: ca.rootFile, attemptTimeoutMs: 500 };
    const client = await startClient(options);
    await expect(client.sign()).rejects.toMatchObject({ code: expect.stringMatching(/timeout|unreachable/) });
    await client.client.close();
  });

  test("whose certificate has another root is reported by the root's file", async () => {
    const [ca, other] = [await startCa(), await startCa()];
    const client = await startClient({ endpoint: ca.endpoint, rootFile: other.rootFile });
    await expect(client.sign()).rejects.toMatchObject({
      code: "untrusted",
      message: `CA at ${ca.endpoint}: certificate not trusted (root used: ${other.rootFile})`,
    });
  });

  test("whose certificate is for another name is reported by the name", async () => {
    const ca = await startCa({ hosts: ["elsewhere"] });
    await expect((await connect(ca)).sign()).rejects.toMatchObject({
      code: "untrusted",
      message: `CA at ${ca.endpoint}: certificate is not for 127.0.0.1 (root used: ${ca.rootFile})`,
    });
  });

  test("known by its address has a certificate for that address, and no server name is sent", async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on("warning", note);
    try {
      const ca = await startCa({ hosts: ["127.0.0.1"] });
      await (await connect(ca)).sign();
      await expect((await connect(ca, { serverName: "127.0.0.2" })).sign()).rejects.toMatchObject({
        code: "untrusted",
        message: `CA at ${ca.endpoint}: certificate is not for 127.0.0.2 (root used: ${ca.rootFile})`,
      });
      await new Promise((resolve) => setImmediate(resolve)); // warnings are reported in a turn of their own
    } finally {
      process.off("warning", note);
    }
    expect(warnings).toEqual([]);
  });

  test("is not waited for when the client closes", async () => {
    const ca = await startCa({ answer: () => new Promise(() => undefined) });
    const client = await connect(ca);
    const signing = client.sign();
    await expect.poll(() => ca.calls.length).toBe(1);
    const refused = expect(signing).rejects.toMatchObject({ code: "cancelled" });
    await client.client.close();
    await refused;
    await client.client.close();
  });
});

describe("an answer that is refused", () => {
  const leafFor = (client: TestClient, options: Parameters<typeof makeCertificate>[0] = {}) =>
    makeCertificate({ isCa: false, keys: client.keys, hosts: [WEB_IDENTITY], ...options });

  test.each([
    { what: "nothing", code: "bad-answer", message: "invalid empty CertChain", answer: async () => [] },
    {
      what: "a leaf without a root",
      code: "bad-answer",
      message: "invalid empty CertChain",
      answer: async (client: TestClient) => [(await leafFor(client)).pem],
    },
    { what: "garbage", code: "bad-answer", message: "first element", answer: async () => ["garbage", "more"] },
    {
      what: "a broken leaf",
      code: "bad-answer",
      message: "first element",
      answer: async () => ["-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "x"],
    },
    {
      what: "a leaf with a garbage root",
      code: "bad-answer",
      message: "last element",
      answer: async (client: TestClient) => [(await leafFor(client)).pem, "garbage"],
    },
    {
      what: "a certificate for another key",
      code: "wrong-key",
      message: "another key",
      answer: async () => [
        (await makeCertificate({ isCa: false, hosts: [WEB_IDENTITY] })).pem,
        (await makeCertificate()).pem,
      ],
    },
    {
      what: "a chain without its leaf",
      code: "bad-answer",
      message: "does not start with a workload certificate",
      answer: async () => [(await makeCertificate()).pem, (await makeCertificate()).pem],
    },
    {
      what: "another service account",
      code: "wrong-san",
      message: "not for service account default/web",
      answer: async (client: TestClient) => [
        (await leafFor(client, { hosts: ["spiffe://cluster.local/ns/default/sa/admin"] })).pem,
        (await makeCertificate()).pem,
      ],
    },
    {
      what: "no identity",
      code: "wrong-san",
      message: "no URI identity",
      answer: async (client: TestClient) => [
        (await leafFor(client, { hosts: ["web"] })).pem,
        (await makeCertificate()).pem,
      ],
    },
    {
      what: "an expired certificate",
      code: "expired",
      message: "expired at",
      answer: async (client: TestClient) => [
        (await leafFor(client, { fromMs: -7_200_000, toMs: -1_000 })).pem,
        (await makeCertificate()).pem,
      ],
    },
    {
      what: "one that is not yet valid",
      code: "not-yet-valid",
      message: "valid only from",
      answer: async (client: TestClient) => [
        (await leafFor(client, { fromMs: 3_600_000, toMs: 7_200_000 })).pem,
        (await makeCertificate()).pem,
      ],
    },
  ])("$what is a $code error that shows no key", async ({ code, message, answer }) => {
    const ca = await startCa();
    const client = await connect(ca);
    ca.setAnswer(() => answer(client));
    const failure: unknown = await client.sign().catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code, message: expect.stringContaining(message) });
    expect(failure).toMatchObject({ message: expect.stringContaining(`CA at ${ca.endpoint}: `) });
    expect(`${client.log.text()}${(failure as Error).stack}`).not.toContain("PRIVATE KEY");
    expect(`${client.log.text()}${(failure as Error).stack}`).not.toContain(client.keyPem.split("\n")[1]);
    ca.setAnswer((_call, sign) => sign());
    await client.sign();
  });

  test("another trust domain is the CA's to decide", async () => {
    const ca = await startCa();
    const client = await connect(ca);
    const hosts = ["spiffe://mesh.example/ns/default/sa/web"];
    ca.setAnswer(async () => [(await leafFor(client, { hosts })).pem, (await makeCertificate()).pem]);
    expect((await client.sign()).chain).toHaveLength(2);
  });
});

describe("what the client authenticates with", () => {
  test("a token file is read for every call: missing, empty, rotated", async () => {
    const ca = await startCa();
    await using directory = temporaryFolder();
    const path = directory.file("istio-token");
    const client = await connect(ca, { tokens: fileTokenFetcher({ path, log: silentLogger }) });
    const sent = async () => {
      await client.sign();
      return ca.calls.at(-1)?.metadata.authorization;
    };
    expect(await sent()).toBeUndefined();
    await writeFile(path, " \n");
    expect(await sent()).toBeUndefined();
    await writeFile(path, "first\n");
    expect(await sent()).toBe("Bearer first");
    await writeFile(path, "second");
    expect(await sent()).toBe("Bearer second");
    expect(client.log.text()).not.toMatch(/first|second/);
  });

  test("the token is fetched again for every attempt", async () => {
    const ca = await startCa();
    let failures = 1;
    ca.setAnswer((_call, sign) => {
      if (failures-- > 0) throw new FakeCaStatus("UNAVAILABLE");
      return sign();
    });
    let count = 0;
    const tokens: TokenFetcher = { ...token(""), fetch: async () => new Secret(`token-${++count}`) };
    await (await connect(ca, { tokens })).sign();
    expect(ca.calls.map((call) => call.metadata.authorization)).toEqual(["Bearer token-1", "Bearer token-2"]);
  });

  test("a token that cannot be had fails the request without a call", async () => {
    const ca = await startCa();
    const tokens: TokenFetcher = { ...token(""), fetch: () => Promise.reject(new Error("metadata server is down")) };
    await expect((await connect(ca, { tokens })).sign()).rejects.toMatchObject({
      code: "unauthenticated",
      message: expect.stringContaining("metadata server is down"),
    });
    expect(ca.calls).toHaveLength(0);
  });

  test("a token with a character that no header takes is refused without being shown", async () => {
    const ca = await startCa();
    const client = await connect(ca, { tokens: token("se\ncret") });
    const failure: unknown = await client.sign().catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: "bad-config", message: expect.stringContaining("authorization") });
    expect(`${(failure as Error).message}${client.log.text()}`).not.toContain('cret"');
  });

  test("client certificates that appear later are used from then on", async () => {
    const ca = await startCa({ requireClientCertificate: true });
    await using directory = temporaryFolder();
    const client = await connect(ca, { clientCertificateDirectory: directory.path });
    // TLS 1.3 refuses a client only after the client has finished its own part of the handshake.
    await expect(client.sign()).rejects.toMatchObject({ code: "unreachable" });
    expect(client.log.text()).toContain("cannot use the client certificate");
    const pair = await ca.issue(WEB_IDENTITY);
    directory.writeAll({ "key.pem": pair.keyPem, "cert-chain.pem": pair.chainPem });
    await client.sign();
    expect(ca.calls.at(-1)?.clientCertificate).toContain(WEB_IDENTITY);
  });
});

describe("a client certificate that cannot be used", () => {
  test("because it has expired is not shown, and the token does", async () => {
    const ca = await startCa();
    const stale = await makeCertificate({ isCa: false, fromMs: -7_200_000, toMs: -1_000 });
    await using directory = temporaryFolder({ files: { "key.pem": stale.keyPem, "cert-chain.pem": stale.pem } });
    const client = await connect(ca, { clientCertificateDirectory: directory.path, tokens: token("t") });
    await client.sign();
    expect(ca.calls[0]?.clientCertificate).toBeUndefined();
    expect(client.log.text()).toContain('"reason":"expired"');
  });

  test("because its key is another's fails the handshake, without showing either", async () => {
    const ca = await startCa();
    const [one, other] = [await makeCertificate({ isCa: false }), await makeCertificate({ isCa: false })];
    await using directory = temporaryFolder({ files: { "key.pem": other.keyPem, "cert-chain.pem": one.pem } });
    const client = await connect(ca, { clientCertificateDirectory: directory.path });
    const failure: unknown = await client.sign().catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: "unreachable", message: expect.stringContaining("key values mismatch") });
    expect(`${client.log.text()}${(failure as Error).stack}`).not.toContain(other.keyPem.split("\n")[1]);
  });
});

describe("changes on this side", () => {
  test("a root replaced while connected is used for the next request", async () => {
    await using directory = temporaryFolder();
    const first = await startFakeCa();
    directory.writeAll({ "root.pem": first.rootPem });
    const client = await startClient({ endpoint: first.endpoint, rootFile: directory.file("root.pem") });
    await client.sign();
    await first.stop();
    const second = await startCa({ port: first.port });
    await expect(client.sign()).rejects.toMatchObject({ code: "untrusted" });
    directory.writeAll({ "root.pem": second.rootPem });
    await client.sign();
    expect(second.calls).toHaveLength(1);
  });

  test("a changed root or token makes a new connection although the old one still works", async () => {
    const ca = await startCa();
    await using directory = temporaryFolder({ files: { "root.pem": ca.rootPem, token: "one" } });
    const tokens = fileTokenFetcher({ path: directory.file("token"), log: silentLogger });
    const client = await connect(ca, { rootFile: directory.file("root.pem"), tokens });
    await client.sign();
    directory.writeAll({ "root.pem": `${ca.rootPem}${(await makeCertificate()).pem}` });
    await client.sign();
    directory.writeAll({ token: "two" });
    await client.sign();
    expect(new Set(ca.calls.map((call) => call.peer)).size).toBe(3);
  });

  test("after a failure the next request connects again", async () => {
    const ca = await startCa();
    const client = await connect(ca);
    await client.sign();
    ca.setAnswer(() => {
      throw new FakeCaStatus("UNKNOWN");
    });
    await expect(client.sign()).rejects.toMatchObject({ code: "rejected" });
    ca.setAnswer((_call, sign) => sign());
    await client.sign();
    const [first, second, third] = ca.calls.map((call) => call.peer);
    expect(first).toBe(second);
    expect(third).not.toBe(first);
  });

  test.each([
    { what: "is missing", content: undefined },
    { what: "is empty", content: "" },
    { what: "is no PEM", content: "hello" },
    { what: "is a broken PEM", content: "-----BEGIN CERTIFICATE-----" },
  ])("a root file that $what fails the start and is named", async ({ content }) => {
    await using directory = temporaryFolder({ files: content === undefined ? {} : { "root.pem": content } });
    const rootFile = directory.file("root.pem");
    await expect(startTestClient({ endpoint: "127.0.0.1:1", rootFile })).rejects.toMatchObject({
      code: "bad-config",
      message: expect.stringContaining(`failed to create TLS dial option with root certificates: ${rootFile}`),
    });
  });

  test("a root file that goes bad while running fails requests until it is good again", async () => {
    const ca = await startCa();
    await using directory = temporaryFolder({ files: { "root.pem": ca.rootPem } });
    const client = await connect(ca, { rootFile: directory.file("root.pem") });
    directory.writeAll({ "root.pem": "" });
    await expect(client.sign()).rejects.toMatchObject({ code: "bad-config" });
    directory.writeAll({ "root.pem": ca.rootPem });
    await client.sign();
  });
});
