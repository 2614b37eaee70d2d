import { afterEach, describe, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { message, repeatedString } from "../../src/protobuf/wire/message.ts";
import { makeCertificate } from "../support/certs/certificates.ts";
import { startDiscoveryServer } from "../support/discovery/server.ts";
import { temporaryFolder } from "../support/files/temporary-folder.ts";
import { openSotw, testNode, URLS } from "../support/xds/ads-client.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

/** As the agent reads it. */
const proxyConfig = message({ caCertificatesPem: repeatedString(34) });

/** The first answer to a stream that asks for the trust anchors, and then for clusters. */
async function ask(allowsSeveralRoots: boolean) {
  const ca = { selfSigned: { key: { type: "ecdsa", curve: "P256" } }, allowsSeveralRoots } as const;
  const server = opened.add(await startDiscoveryServer({ ca }));
  const stream = opened.add(openSotw({ port: server.ports.grpc }));
  stream.send({ node: testNode({ metadata: { NAMESPACE: "default" } }), typeUrl: URLS.PCDS });
  stream.send({ typeUrl: URLS.CDS });
  return { answer: await stream.next(), rootPem: server.discovery.rootPem };
}

test("a mesh that may change its roots tells agents which ones hold", async () => {
  const { answer, rootPem } = await ask(true);
  const configs = answer.resources.map(({ typeUrl = "", value = Buffer.alloc(0) }) => [
    typeUrl,
    proxyConfig.decode(Buffer.from(value)).caCertificatesPem,
  ]);
  expect(configs).toEqual([[URLS.PCDS, [rootPem]]]);
  expect(rootPem).toContain("BEGIN CERTIFICATE");
});

test("a mesh with one root for good tells nothing", async () => {
  expect((await ask(false)).answer.typeUrl).toBe(URLS.CDS);
});

describe("a root that joins the bundle of a plugged-in CA", () => {
  const start = async (allowsSeveralRoots: boolean) => {
    const root = await makeCertificate({ organization: "first" });
    const directory = opened.add(
      temporaryFolder({
        files: {
          "ca-cert.pem": root.pem,
          "ca-key.pem": root.keyPem,
          "root-cert.pem": root.pem,
          "cert-chain.pem": "",
        },
      }),
    );
    const ca = { allowsSeveralRoots };
    const server = opened.add(await startDiscoveryServer({ ca, caDirectory: directory.path }));
    const next = await makeCertificate({ organization: "second" });
    const rotate = () => directory.writeAll({ "root-cert.pem": `${root.pem}${next.pem}` });
    return { server, root, next, rotate };
  };

  test("is pushed to agents that ask for trust anchors, and nothing else is", async () => {
    const { server, root, next, rotate } = await start(true);
    const stream = opened.add(openSotw({ port: server.ports.grpc }));
    const [node, resourceNames] = [testNode({ metadata: { NAMESPACE: "default" } }), ["outbound|80||x.example"]];
    for (const request of [
      { node, typeUrl: URLS.PCDS },
      { typeUrl: URLS.CDS },
      { typeUrl: URLS.LDS },
      { typeUrl: URLS.EDS, resourceNames },
    ]) {
      stream.send(request);
      const { typeUrl, nonce } = await stream.next();
      stream.send({ ...request, responseNonce: nonce });
      expect(typeUrl).toBe(request.typeUrl);
    }
    await rotate();
    const { typeUrl, resources } = await stream.next();
    expect(typeUrl).toBe(URLS.PCDS);
    const [pushed] = resources.map(({ value = Buffer.alloc(0) }) => proxyConfig.decode(Buffer.from(value)));
    expect(pushed?.caCertificatesPem.join("").replaceAll("\n", "")).toBe((root.pem + next.pem).replaceAll("\n", ""));
    // What comes next is the answer to the next question: nothing was sent in between.
    stream.send({ typeUrl: URLS.RDS, resourceNames: ["80"] });
    expect((await stream.next()).typeUrl).toBe(URLS.RDS);
  });

  test("is refused where the mesh has one root for good", async () => {
    const { server, root, rotate } = await start(false);
    await rotate();
    await expect.poll(() => server.log.text()).toContain("the root certificates changed");
    expect(server.discovery.rootPem).toBe(root.pem);
  });
});
