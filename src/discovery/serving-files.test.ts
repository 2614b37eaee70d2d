import { once } from "node:events";
import { rename } from "node:fs/promises";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeCertificate, type TestCertificate } from "../../test/support/certs/certificates.ts";
import { recordLog } from "../../test/support/log/recording-log.ts";
import "../../test/support/no-open-handles.ts";
import { type TemporaryFolder, temporaryFolder } from "../../test/support/files/temporary-folder.ts";
import { CloseStack } from "../base/close-stack.ts";
import { startGrpcServer } from "../grpc/server/start-grpc-server.ts";
import { createFileTls } from "./serving-files.ts";

const IDENTITY = "spiffe://td/ns/n/sa/web";
const opened = new CloseStack();
afterEach(() => opened.close());

/** The mesh's CA with an intermediate that signs, and a serving certificate of another party. */
const mesh = await makeCertificate({ organization: "mesh" });
const signer = await makeCertificate({ organization: "signer", by: mesh });
const elsewhere = await makeCertificate({ organization: "elsewhere" });
const serving = await makeCertificate({ by: elsewhere, isCa: false, hosts: ["localhost"], organization: "server" });
let directory: TemporaryFolder;
let material: { rootPem: string; chainPem: string[] };
let port: number;
beforeEach(async () => {
  directory = opened.add(temporaryFolder());
  directory.writeAll({ cert: serving.pem, key: serving.keyPem, ca: elsewhere.pem });
  const files = { certificate: directory.file("cert"), key: directory.file("key"), ca: directory.file("ca") };
  material = { rootPem: mesh.pem, chainPem: [signer.pem] };
  const authority = {
    get material() {
      return material;
    },
  };
  const tls = createFileTls(files, authority, () => ["td"]);
  const listen = { host: "127.0.0.1", port: 0 };
  const server = opened.add(await startGrpcServer({ listen, methods: [], tls, log: recordLog() }));
  port = "port" in server.address ? server.address.port : 0;
});

const leafOf = (by: TestCertificate, hosts = [IDENTITY]) =>
  makeCertificate({ by, isCa: false, hosts, organization: "workload" });

/** TLS 1.2, where a session is there as soon as the handshake is done. */
async function open(shown: { readonly cert: string; readonly key: string }, session?: Buffer): Promise<TLSSocket> {
  const trust = { ca: elsewhere.pem, servername: "localhost", ALPNProtocols: ["h2"], maxVersion: "TLSv1.2" as const };
  const socket = connectTls({ host: "127.0.0.1", port, ...trust, ...shown, ...(session && { session }) });
  socket.on("error", () => undefined);
  opened.defer(async () => void socket.destroy());
  await once(socket, "secureConnect");
  return socket;
}

/** HTTP/2 begins with the server's settings; a refused client sees the end instead. */
async function isServed(socket: TLSSocket): Promise<boolean> {
  const [frame] = (await Promise.race([once(socket, "data"), once(socket, "close").then(() => [])])) as [Buffer?];
  return frame?.[3] === 4;
}

/** The end may come before the client's side of the handshake is over. */
const isRefused = (shown: { readonly cert: string; readonly key: string }) =>
  open(shown).then(
    async (socket) => !(await isServed(socket)),
    () => true,
  );

describe("clients with a certificate of the own CA", () => {
  test("are served, also when they take up their session again", async () => {
    const leaf = await leafOf(signer);
    const shown = { cert: leaf.pem + signer.pem, key: leaf.keyPem };
    const first = await open(shown);
    expect(await isServed(first)).toBe(true);
    const again = await open(shown, first.getSession());
    expect(again.isSessionReused()).toBe(true);
    expect(await isServed(again)).toBe(true);
  });

  test("are judged by the intermediates that the CA has now", async () => {
    const next = await makeCertificate({ organization: "next", by: mesh });
    material = { rootPem: mesh.pem, chainPem: [next.pem] };
    const leaf = await leafOf(next);
    const shown = { cert: leaf.pem + next.pem, key: leaf.keyPem };
    const first = await open(shown);
    expect(await isServed(first)).toBe(true);
    expect(await isServed(await open(shown, first.getSession()))).toBe(true);
  });

  test.each([
    { what: "another trust domain", hosts: ["spiffe://other/ns/n/sa/web"] },
    { what: "two identities", hosts: [IDENTITY, "spiffe://td/ns/n/sa/other"] },
    { what: "no identity", hosts: ["web.example"] },
  ])("and $what are refused", async ({ hosts }) => {
    const leaf = await leafOf(signer, hosts);
    expect(await isRefused({ cert: leaf.pem + signer.pem, key: leaf.keyPem })).toBe(true);
  });
});

test("clients with a certificate of the given roots are served, strangers are not", async () => {
  const leaf = await leafOf(elsewhere);
  expect(await isServed(await open({ cert: leaf.pem, key: leaf.keyPem }))).toBe(true);
  const stranger = await leafOf(await makeCertificate({ organization: "stranger" }));
  expect(await isRefused({ cert: stranger.pem, key: stranger.keyPem })).toBe(true);
});

test("a replaced pair is shown to the next client, half of one is not", async () => {
  const serialOf = async () => (await open({ cert: "", key: "" })).getPeerCertificate().serialNumber;
  const before = await serialOf();
  const next = await makeCertificate({ by: elsewhere, isCa: false, hosts: ["localhost"], organization: "next" });
  directory.writeAll({ "cert.new": next.pem, "key.new": next.keyPem });
  await rename(directory.file("cert.new"), directory.file("cert"));
  expect(await serialOf()).toBe(before);
  await rename(directory.file("key.new"), directory.file("key"));
  expect(await serialOf()).not.toBe(before);
});
