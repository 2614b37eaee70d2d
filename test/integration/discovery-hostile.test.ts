import { afterEach, describe, expect, test } from "vitest";
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

describe("clients without an identity share the budget of their address", () => {
  test("streams: one more is refused with the limit, and again there is room when one has ended", async () => {
    const server = await start({ limits: { maxStreamsPerIdentity: 2 } });
    const open = () => {
      const stream = opened.add(openSotw({ port: server.ports.grpc }));
      stream.send({ node: testNode(), typeUrl: URLS.CDS });
      return stream;
    };
    const first = open();
    await first.next();
    await open().next();
    const message = "127.0.0.1 has 2 streams, at most 2 are allowed";
    expect(await open().ended).toEqual({ code: "RESOURCE_EXHAUSTED", message });
    await first[Symbol.asyncDispose]();
    await expect
      .poll(() =>
        open()
          .next()
          .then(
            () => true,
            () => false,
          ),
      )
      .toBe(true);
  });

  test.each([
    {
      limits: { maxNamesPerIdentity: 3 },
      message: "127.0.0.1 subscribes to 4 names on all its streams, at most 3 are allowed",
    },
    {
      limits: { maxNameBytesPerIdentity: 15 },
      message: "127.0.0.1 subscribes to names of 20 bytes on all its streams, at most 15 are allowed",
    },
  ])("$limits: the stream that goes beyond it ends, the other one stays", async ({ limits, message }) => {
    const server = await start({ limits });
    const subscribe = (names: readonly string[]) => {
      const stream = opened.add(openSotw({ port: server.ports.grpc }));
      stream.send({ node: testNode(), typeUrl: URLS.EDS, resourceNames: names });
      return stream;
    };
    const first = subscribe(["name1", "name2"]);
    await first.next();
    expect(await subscribe(["name3", "name4"]).ended).toEqual({ code: "RESOURCE_EXHAUSTED", message });
    first.send({ typeUrl: URLS.CDS });
    expect((await first.next()).typeUrl).toBe(URLS.CDS);
  });

  test("long lists are counted as they come, and a replica with the same list is served beside the first", async () => {
    const server = await start({ limits: { maxNamesPerIdentity: 150 } });
    const names = (prefix: string) => Array.from({ length: 100 }, (_, index) => `${prefix}-${index}.shop.svc`);
    const subscribe = (prefix: string) => {
      const stream = opened.add(openSotw({ port: server.ports.grpc }));
      stream.send({ node: testNode(), typeUrl: URLS.EDS, resourceNames: names(prefix) });
      return stream;
    };
    for (const replica of [subscribe("a"), subscribe("a")]) expect((await replica.next()).typeUrl).toBe(URLS.EDS);
    const message = "127.0.0.1 subscribes to 200 names on all its streams, at most 150 are allowed";
    expect(await subscribe("b").ended).toEqual({ code: "RESOURCE_EXHAUSTED", message });
  });
});
