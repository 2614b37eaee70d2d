import { createHmac, generateKeyPairSync, type KeyObject, sign as signBytes } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { MetricRegistry } from "../../src/base/metric-registry.ts";
import { type DevelopmentIssuer, openDevelopmentIssuer } from "../../src/ca/development-issuer.ts";
import { declareCaServerMetrics } from "../../src/ca/metrics.ts";
import { clientProblem } from "../../src/ca/server-credentials.ts";
import { type CaServer, startCaServer } from "../../src/ca/start-ca-server.ts";
import type { GrpcChannel } from "../../src/grpc/client/client-types.ts";
import { createGrpcChannel } from "../../src/grpc/client/create-grpc-channel.ts";
import { createCertificate } from "../../src/grpc/create-certificate.ts";
import { parsePemCertificate } from "../../src/protocol/x509/certificate.ts";
import { buildCsr } from "../../src/protocol/x509/csr.ts";
import { encodePrivateKey, generateKeyPair, parsePrivateKey } from "../../src/protocol/x509/key-pair.ts";
import { startTestClient, WEB_IDENTITY } from "../support/certs/ca-client-setup.ts";
import { makeCertificate } from "../support/certs/certificates.ts";
import { startFakeCa } from "../support/certs/fake-ca.ts";
import { type TemporaryFolder, temporaryFolder } from "../support/files/temporary-folder.ts";
import { type RecordedLog, recordLog } from "../support/log/recording-log.ts";

const opened = new CloseStack();
const perTest = new CloseStack();
let server: CaServer;
let channel: GrpcChannel;
let issuer: DevelopmentIssuer;
let directory: TemporaryFolder;
let log: RecordedLog;
let csr: string;
const keys = await generateKeyPair({ type: "ecdsa", curve: "P256" });

/** With an intermediate, so that chains have a middle. */
async function startServer(): Promise<void> {
  directory = opened.add(temporaryFolder());
  issuer = await openDevelopmentIssuer(directory.file("tokens"));
  const root = await makeCertificate({ organization: "root" });
  const signer = await makeCertificate({ organization: "signer", by: root });
  directory.writeAll({
    "ca-cert.pem": signer.pem,
    "ca-key.pem": signer.keyPem,
    "root-cert.pem": root.pem,
    "cert-chain.pem": signer.pem,
  });
  log = recordLog();
  server = opened.add(
    await startCaServer({
      directory: directory.path,
      trustDomain: "cluster.local",
      listen: { host: "127.0.0.1", port: 0 },
      hosts: ["127.0.0.1", "localhost"],
      metrics: declareCaServerMetrics(new MetricRegistry()),
      log,
      jwtRules: [issuer.rule],
    }),
  );
}

const port = () => ("port" in server.address ? server.address.port : 0);

beforeAll(async () => {
  await startServer();
  csr = await buildCsr(keys, { hosts: [WEB_IDENTITY] });
  const tls = async () => ({ serverName: "localhost", ca: server.authority.material.rootPem });
  channel = createGrpcChannel(`127.0.0.1:${port()}`, { tls });
});
afterAll(async () => {
  await channel.stop();
  await opened.close();
});
afterEach(() => perTest.close());

const goodToken = async () => (await issuer.issue({ namespace: "default", name: "web" }, 60)).reveal();

/** The chain, or the name of the status. */
async function ask(csrPem: string, token?: string): Promise<readonly string[] | string> {
  const metadata = { authorization: `Bearer ${token ?? (await goodToken())}` };
  return channel
    .unary(createCertificate, { csr: csrPem, validityDuration: 0n, metadata: undefined }, { metadata })
    .then(
      (answer) => answer.certChain ?? [],
      (failure: { code: string }) => failure.code,
    );
}

const pem = (der: Buffer) =>
  `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
const derOf = (text: string) => Buffer.from(text.replace(/-----[^-]+-----|\s/g, ""), "base64");

describe("a request", () => {
  test("with thousands of names gets one certificate for its own identity alone", async () => {
    const hosts = Array.from({ length: 3000 }, (_, index) => `spiffe://cluster.local/ns/kube-system/sa/admin-${index}`);
    const answer = await ask(await buildCsr(keys, { hosts }));
    expect(parsePemCertificate(answer[0] ?? "").names).toEqual([{ kind: "uri", value: WEB_IDENTITY }]);
  });

  test("of a megabyte is refused before it is parsed", async () => {
    expect(await ask(csr + "x".repeat(1_000_000))).toBe("RESOURCE_EXHAUSTED");
    expect(await ask(csr)).toHaveLength(3);
  });

  test("with any byte changed is refused or signed, and never anything else", async () => {
    const der = derOf(csr);
    const answers = new Set<string>();
    for (let at = 0; at < der.length; at += 3) {
      const changed = Buffer.from(der);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      const answer = await ask(pem(changed));
      answers.add(typeof answer === "string" ? answer : "signed");
    }
    expect([...answers]).toEqual(["INVALID_ARGUMENT"]);
  });

  test.each([
    { what: "cut off", bytes: () => derOf(csr).subarray(0, 100) },
    { what: "with bytes behind", bytes: () => Buffer.concat([derOf(csr), Buffer.from("more")]) },
    { what: "of nested sequences", bytes: () => Buffer.alloc(60_000, Buffer.from([0x30, 0x80])) },
    { what: "of a length beyond all memory", bytes: () => Buffer.from("3084ffffffff30", "hex") },
    { what: "of nothing", bytes: () => Buffer.alloc(0) },
  ])("$what is refused", async ({ bytes }) => {
    expect(await ask(pem(bytes()))).toBe("INVALID_ARGUMENT");
  });
});

describe("a token", () => {
  const segment = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = (given: object = {}) => ({
    iss: issuer.rule.issuer,
    sub: "system:serviceaccount:default:web",
    aud: ["istio-ca"],
    exp: Math.floor(Date.now() / 1000) + 60,
    ...given,
  });
  const signed = async (given: object, key?: KeyObject) => {
    const { readFile } = await import("node:fs/promises");
    const own = key ?? parsePrivateKey(await readFile(directory.file("tokens/token-key.pem"), "utf8"));
    const text = `${segment({ alg: "ES256", kid: "token-key" })}.${segment(claims(given))}`;
    const signature = signBytes("sha256", Buffer.from(text), { key: own, dsaEncoding: "ieee-p1363" });
    return `${text}.${signature.toString("base64url")}`;
  };
  const hour = 3600;
  const nowSeconds = () => Math.floor(Date.now() / 1000);

  test("of the right claims and key is accepted", async () => {
    expect(await ask(csr, await signed({}))).toHaveLength(3);
  });

  test.each<{ what: string; make: () => Promise<string> }>([
    { what: "without a signature", make: async () => `${segment({ alg: "none" })}.${segment(claims())}.` },
    {
      what: "signed with the public key as a shared secret",
      make: async () => {
        const text = `${segment({ alg: "HS256", kid: "token-key" })}.${segment(claims())}`;
        return `${text}.${createHmac("sha256", issuer.rule.jwks ?? "")
          .update(text)
          .digest("base64url")}`;
      },
    },
    {
      what: "of another key",
      make: () => signed({}, generateKeyPairSync("ec", { namedCurve: "prime256v1" }).privateKey),
    },
    { what: "for another audience", make: () => signed({ aud: "kubernetes" }) },
    { what: "for no audience", make: () => signed({ aud: [] }) },
    { what: "of another issuer", make: () => signed({ iss: "someone" }) },
    { what: "that has expired", make: () => signed({ exp: nowSeconds() - 1 }) },
    { what: "that never expires", make: () => signed({ exp: undefined }) },
    { what: "whose expiry is text", make: () => signed({ exp: "9999999999" }) },
    {
      what: "that is valid in an hour",
      make: () => signed({ nbf: nowSeconds() + hour, exp: nowSeconds() + 2 * hour }),
    },
    { what: "of a user", make: () => signed({ sub: "admin" }) },
    { what: "of half an account", make: () => signed({ sub: "system:serviceaccount:default" }) },
    { what: "of an account with a part too many", make: () => signed({ sub: "system:serviceaccount:default:web:x" }) },
    { what: "whose claims are a list", make: async () => `${segment({ alg: "ES256" })}.${segment([])}.x` },
    { what: "of half a hundred kilobytes", make: async () => `a.${"b".repeat(50_000)}.c` },
  ])("$what is refused without a reason, and the log does not show it", async ({ make }) => {
    const token = await make();
    expect(await ask(csr, token)).toBe("UNAUTHENTICATED");
    expect(log.text()).not.toContain(token.slice(-20));
  });

  test("larger than any header ends its own call or connection only", async () => {
    expect(await ask(csr, `a.${"b".repeat(300_000)}.c`)).toEqual(expect.any(String));
    expect(await ask(csr)).toHaveLength(3);
  });

  test("of a name with slashes cannot become another account's identity", async () => {
    const answer = await ask(csr, await signed({ sub: "system:serviceaccount:default/sa/admin:web" }));
    const names = typeof answer === "string" ? [] : parsePemCertificate(answer[0] ?? "").names;
    expect(names.map((name) => name.value)).not.toContain("spiffe://cluster.local/ns/default/sa/admin");
  });
});

test("a workload renews by the certificate that an intermediate CA gave it", async () => {
  const chain = await ask(csr);
  if (typeof chain === "string") throw new Error(chain);
  const own = perTest.add(temporaryFolder());
  own.writeAll({
    "root.pem": server.authority.material.rootPem,
    "key.pem": encodePrivateKey(keys.privateKey, true).reveal(),
    "cert-chain.pem": chain.join(""),
  });
  const client = perTest.add(
    await startTestClient({
      endpoint: `127.0.0.1:${port()}`,
      rootFile: own.file("root.pem"),
      clientCertificateDirectory: own.path,
    }),
  );
  expect((await client.sign()).chain).toHaveLength(3);
});

test("a client certificate is accepted when its TLS session is taken up again", async () => {
  const chain = await ask(csr);
  if (typeof chain === "string") throw new Error(chain);
  const options = {
    port: port(),
    host: "127.0.0.1",
    servername: "localhost",
    ALPNProtocols: ["h2"],
    ca: server.authority.material.rootPem,
    key: encodePrivateKey(keys.privateKey, true).reveal(),
    cert: chain.slice(0, 2).join(""),
    maxVersion: "TLSv1.2" as const,
  };
  const open = async (session?: Buffer): Promise<TLSSocket> => {
    const socket = connectTls({ ...options, ...(session && { session }) }).on("error", () => undefined);
    perTest.defer(async () => void socket.destroy());
    await once(socket, "secureConnect");
    return socket;
  };
  const first = await open();
  const session = first.getSession();
  first.destroy();
  const again = await open(session);
  expect(again.isSessionReused()).toBe(true);
  // HTTP/2 begins with the server's settings; a refused client sees the end instead.
  const [frame] = (await Promise.race([once(again, "data"), once(again, "close").then(() => [undefined])])) as [
    Buffer?,
  ];
  expect(frame?.[3]).toBe(4);
});

test("the whole chain that a client sends is seen, also one of a CA that the server does not run", async () => {
  const root = await makeCertificate({ organization: "elsewhere" });
  const middle = await makeCertificate({ organization: "middle", by: root });
  const host = "spiffe://elsewhere/ns/a/sa/b";
  const leaf = await makeCertificate({ by: middle, isCa: false, hosts: [host], organization: "leaf" });
  const serving = await makeCertificate({ isCa: false, hosts: ["localhost"], organization: "server" });
  const seen = new Promise<string | undefined>((resolve) => {
    const listener = createTlsServer({
      key: serving.keyPem,
      cert: serving.pem,
      ca: root.pem,
      requestCert: true,
      rejectUnauthorized: false,
    }).listen(0, "127.0.0.1", () => {
      const { port: at } = listener.address() as AddressInfo;
      const client = { key: leaf.keyPem, cert: leaf.pem + middle.pem, rejectUnauthorized: false };
      const socket = connectTls({ port: at, host: "127.0.0.1", ...client }).on("error", () => undefined);
      perTest.defer(async () => void socket.destroy());
    });
    perTest.defer(async () => void listener.close());
    listener.on("secureConnection", (socket) => {
      const pools = new Map([["elsewhere", [parsePemCertificate(root.pem)]]]);
      resolve(
        clientProblem(
          socket.on("error", () => undefined),
          pools,
          new Date(),
        ),
      );
      socket.destroy();
    });
  });
  expect(await seen).toBeUndefined();
});

test("an answer beyond all reason is given up, not collected", async () => {
  const ca = perTest.add(
    await startFakeCa({ answer: async (_call, sign) => [...(await sign()), "x".repeat(40 * 1024 * 1024)] }),
  );
  const client = perTest.add(await startTestClient({ endpoint: ca.endpoint, rootFile: ca.rootFile, random: () => 0 }));
  await expect(client.sign()).rejects.toMatchObject({ code: "rejected", message: expect.stringMatching(/larger|max/) });
});
