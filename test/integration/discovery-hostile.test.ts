import { afterEach, expect, test } from "vitest";
import { CloseStack } from "../../src/base/close-stack.ts";
import { type DiscoveryServerOptions, startDiscoveryServer } from "../support/discovery/server.ts";
import { openSotw, testNode, URLS } from "../support/xds/ads-client.ts";

const opened = new CloseStack();
afterEach(() => opened.close());

const start = async (options: DiscoveryServerOptions = {}) => opened.add(await startDiscoveryServer(options));

test.each([
  { name: "less than one stream a second", options: { limits: { streamsPerSecond: 0.1 } } },
  { name: "an age beyond what timers can count", options: { maxConnectionAgeMs: 3e9 } },
  { name: "a send timeout beyond what timers can count", options: { limits: { sendTimeoutMs: 3e9 } } },
  { name: "no byte allowed in a request", options: { limits: { maxReceiveBytes: 0 } } },
  { name: "less than nothing allowed in a request", options: { limits: { maxReceiveBytes: -1 } } },
])("with $name the first client is served and stays", async ({ options }) => {
  const server = await start(options);
  const stream = opened.add(openSotw({ port: server.ports.grpc }));
  stream.send({ node: testNode(), typeUrl: URLS.CDS });
  await stream.next();
  stream.send({ typeUrl: URLS.EDS, resourceNames: ["a"] });
  expect((await stream.next()).typeUrl).toBe(URLS.EDS);
});
