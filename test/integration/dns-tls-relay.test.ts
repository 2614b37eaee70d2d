import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { makeCertificate, type TestCertificate } from "../support/certs/certificates.ts";
import { ask } from "../support/dns/client.ts";
import { startDnsFixture } from "../support/dns/fixture.ts";
import { aRecord } from "../support/dns/message.ts";
import { startDnsTlsFront } from "../support/dns/tls-front.ts";
import { replyTo, startDnsUpstream, type UpstreamHandler } from "../support/dns/upstream.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { needs } from "../support/needs.ts";
import { until } from "../support/wait/until.ts";

const NAME = "istiod.istio-system.svc";
const MESH_NAME = "web.ns1.svc.cluster.local.";

/** The control plane's names; others do not exist there. */
const meshNames: UpstreamHandler = (query) => {
  const [question] = query.message.questions;
  if (question?.name === MESH_NAME && question.type === 1)
    return replyTo(query, { answers: [aRecord(MESH_NAME, "10.1.2.3")] });
  if (question?.name === MESH_NAME) return replyTo(query);
  if (question?.name.toLowerCase() === "shop.global.")
    return replyTo(query, { answers: [aRecord("shop.global.", "240.0.0.7")] });
  return replyTo(query, { rcode: 3 });
};
const others: UpstreamHandler = (query) =>
  replyTo(query, { answers: [aRecord(query.message.questions[0]?.name ?? "", "9.9.9.9")] });

/** A nameserver of resolv.conf, a control plane that serves DNS over TLS, and the agent's server of 1.7 between them. */
async function setUp(
  change: { readonly trusted?: TestCertificate; readonly serverName?: string; readonly port?: number } = {},
) {
  await using opened = new CloseStack();
  const own = <T extends AsyncDisposable>(thing: T): T => {
    opened.defer(async () => thing[Symbol.asyncDispose]());
    return thing;
  };
  const ca = await makeCertificate({ organization: "mesh" });
  const leaf = await makeCertificate({ by: ca, isCa: false, hosts: [NAME] });
  const controlPlane = own(await startDnsUpstream(meshNames));
  const resolver = own(await startDnsUpstream(others));
  const front = own(await startDnsTlsFront(controlPlane, { cert: leaf.pem, key: leaf.keyPem }));
  const rootFile = own(temporaryFolder()).write("root.pem", (change.trusted ?? ca).pem);
  const relay = {
    suffixes: ["global.", "cluster.local."],
    host: "127.0.0.1",
    port: change.port ?? front.port,
    rootFile,
  };
  const dns = own(
    await startDnsFixture({
      generation: "1.8",
      table: null,
      forwardsBeforeSync: true,
      upstreamPort: resolver.port,
      relay: { ...relay, serverName: change.serverName ?? NAME },
    }),
  );
  const owned = opened.move();
  return { controlPlane, resolver, front, dns, rootFile, [Symbol.asyncDispose]: () => owned.close() };
}

type Parts = Awaited<ReturnType<typeof setUp>>;
const untilConnected = ({ front }: Parts) => until(() => front.connections > 0);
const addresses = async ({ dns }: Parts, name: string) =>
  (await ask("udp", dns.address, { name })).answers.map(({ data }) => [...data].join("."));

test("names of the mesh are asked at the control plane over TLS, all others at the servers of resolv.conf", async () => {
  await using parts = await setUp();
  await untilConnected(parts);
  expect(await addresses(parts, MESH_NAME)).toEqual(["10.1.2.3"]);
  expect(await addresses(parts, "Shop.Global.")).toEqual(["240.0.0.7"]);
  expect(await addresses(parts, "www.example.com.")).toEqual(["9.9.9.9"]);
  expect(await addresses(parts, "notcluster.localx.")).toEqual(["9.9.9.9"]);
  expect(parts.controlPlane.queries).toHaveLength(2);
  expect(parts.resolver.queries).toHaveLength(2);
});

test("many questions side by side share one connection, and each gets its own answer", async () => {
  await using parts = await setUp();
  await untilConnected(parts);
  parts.controlPlane.handle = (query) => {
    const name = query.message.questions[0]?.name ?? "";
    return replyTo(query, { answers: [aRecord(name, `10.0.0.${/^\d+/.exec(name)?.[0]}`)] });
  };
  const found = await Promise.all(
    // One after the other on the wire: the test's nameserver reads a question per packet.
    Array.from({ length: 20 }, async (_, index) => {
      await until(() => parts.controlPlane.queries.length >= index);
      return addresses(parts, `${index}.ns.svc.cluster.local.`);
    }),
  );
  expect(found).toEqual(Array.from({ length: 20 }, (_, index) => [`10.0.0.${index}`]));
  expect(parts.front.connections).toBe(1);
});

test('an answer without records is "no such name", as is a name that the control plane does not know', async () => {
  await using parts = await setUp();
  await untilConnected(parts);
  expect((await ask("udp", parts.dns.address, { name: MESH_NAME, type: 28 })).rcode).toBe(3);
  expect((await ask("udp", parts.dns.address, { name: "other.global." })).rcode).toBe(3);
});

test.each([
  {
    is: "with a certificate of another CA",
    change: async () => ({ trusted: await makeCertificate() }),
    says: /certificate/,
  },
  {
    is: "with a certificate for another name",
    change: async () => ({ serverName: "other.mesh" }),
    says: /altnames|alt name/,
  },
  { is: "that is not there", change: async () => ({ port: 1 }), says: /ECONNREFUSED/ },
])("a control plane $is gets no question; its names fail, others are resolved", async ({ change, says }) => {
  await using parts = await setUp(await change());
  await until(() => parts.dns.log.lines.some(({ message }) => says.test(message)));
  expect((await ask("udp", parts.dns.address, { name: MESH_NAME })).rcode).toBe(2);
  expect(await addresses(parts, "www.example.com.")).toEqual(["9.9.9.9"]);
  expect(parts.controlPlane.queries).toEqual([]);
});

test("a connection that ends is made again", async () => {
  await using parts = await setUp();
  await untilConnected(parts);
  parts.front.cut();
  await until(() => parts.front.connections === 2);
  await until(async () => (await addresses(parts, MESH_NAME)).length === 1);
});

test("the tests' DNS over TLS is what dig asks too", async (context) => {
  needs("dig")(context);
  await using parts = await setUp();
  const { port } = parts.front;
  const words = ["@127.0.0.1", "-p", `${port}`, "+tls", `+tls-ca=${parts.rootFile}`, `+tls-hostname=${NAME}`, "+short"];
  const { stdout } = await promisify(execFile)("dig", [...words, MESH_NAME, "A"]);
  expect(stdout).toBe("10.1.2.3\n");
});
