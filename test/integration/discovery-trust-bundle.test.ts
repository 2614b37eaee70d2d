import { afterEach, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { message, repeatedString } from "../../src/protocol/protobuf/message.ts";
import { openSotw, testNode, URLS } from "../support/ads-client.ts";
import { startDiscoveryServer } from "../support/discovery-server.ts";

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
