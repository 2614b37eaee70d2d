import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { untilAborted } from "../../src/base/wait.ts";
import { deltaDiscoveryRequest, discoveryRequest } from "../../src/protobuf/wire/discovery.ts";
import { NAME_TABLE_TYPE, PROXY_CONFIG_TYPE } from "../../src/xds/type-urls.ts";
import { startLastGood } from "../../src/xds-proxy/last-good/start-last-good.ts";
import { socketFolder } from "../support/files/socket-folder.ts";
import { openRawAds } from "../support/xds/ads-client.ts";
import { type ServedStream, startControlPlane } from "../support/xds/control-plane.ts";
import { ask, CDS, LDS, NODE_ID, push, startTestProxy } from "../support/xds/harness.ts";

const HEALTH = "type.googleapis.com/istio.v1.HealthInformation";
const envoy = { agent: "envoy" };

/** The agent's own parts, as far as they note what they are given. */
function createHandlers() {
  const handled: string[] = [];
  const handler = (typeUrl: string) => ({
    typeUrl,
    handle: (bytes: Buffer) => void handled.push(discoveryRequest.decode(bytes).versionInfo),
  });
  return { handled, handlers: [handler(NAME_TABLE_TYPE), handler(PROXY_CONFIG_TYPE)] };
}

describe.each(["sotw", "delta"] as const)("%s", (kind) => {
  const decode = (bytes: Buffer | undefined) => {
    const given = bytes ?? Buffer.alloc(0);
    if (kind === "sotw") {
      const { typeUrl, responseNonce, versionInfo, errorDetail } = discoveryRequest.decode(given);
      return { typeUrl, nonce: responseNonce, version: versionInfo, error: errorDetail?.message, sub: [], unsub: [] };
    }
    const request = deltaDiscoveryRequest.decode(given);
    const { typeUrl, responseNonce, errorDetail, resourceNamesSubscribe, resourceNamesUnsubscribe } = request;
    const names = { sub: resourceNamesSubscribe, unsub: resourceNamesUnsubscribe };
    return { typeUrl, nonce: responseNonce, version: "", error: errorDetail?.message, ...names };
  };
  const plain = { nonce: "", version: "", error: undefined, sub: [] as string[], unsub: [] as string[] };
  const asksAgain = [NAME_TABLE_TYPE, PROXY_CONFIG_TYPE].map((typeUrl) => ({
    ...plain,
    typeUrl,
    sub: kind === "delta" ? ["*"] : [],
  }));
  const unsub = kind === "delta" ? ["*"] : [];
  /** What the agent says when it takes a subscription back that was answered: in the state of the world nothing. */
  const takesBack = (typeUrl: string, nonce: string) => (kind === "delta" ? [{ ...plain, typeUrl, nonce, unsub }] : []);
  const since = (stream: ServedStream, from: number) => stream.requests.slice(from).map(decode);

  async function startPair() {
    const socket = socketFolder();
    const server = await startControlPlane();
    const { handled, handlers } = createHandlers();
    const running = await startTestProxy(server.address, socket.path, { handlers });
    const connect = async (agent: string, index: number) => {
      const client = openRawAds(socket.path, kind);
      client.send(ask(kind, LDS, { agent }));
      const stream = await server.stream(index);
      return { client, stream };
    };
    return {
      ...running,
      handled,
      connect,
      async [Symbol.asyncDispose]() {
        await running.proxy.stop();
        await server[Symbol.asyncDispose]();
        socket[Symbol.dispose]();
      },
    };
  }

  test("the stream that hands over takes its subscriptions back, and nothing that comes on it counts any more", async () => {
    await using agent = await startPair();
    const old = await agent.connect("envoy", 0);
    await using _old = old.client;
    await old.stream.received(3);
    old.stream.send(push(kind, NAME_TABLE_TYPE, ["first"], { nonce: "1" }));
    await old.stream.received(4);
    expect(agent.handled.splice(0)).toEqual(["first"]);

    const young = await agent.connect("envoy", 1);
    await using _young = young.client;
    await young.stream.received(3);
    expect(young.stream.types()).toEqual([LDS, NAME_TABLE_TYPE, PROXY_CONFIG_TYPE]);
    const resigned = takesBack(NAME_TABLE_TYPE, "1");
    await old.stream.received(4 + resigned.length);
    expect(since(old.stream, 4)).toEqual(resigned);

    young.stream.send(push(kind, NAME_TABLE_TYPE, ["second"], { nonce: "2" }));
    await young.stream.received(4);
    const before = old.stream.requests.length;
    old.stream.send(push(kind, NAME_TABLE_TYPE, ["late"], { nonce: "3", version: "v3" }));
    old.stream.send(push(kind, PROXY_CONFIG_TYPE, ["late anchors"], { nonce: "4", version: "v4" }));
    old.stream.send(push(kind, CDS, ["cluster"]));
    await old.client.received(1);
    await old.stream.received(before + 2);
    expect(agent.handled).toEqual(["second"]);
    // No one waits for an answer that does not come, or shows the proxy as behind.
    expect(since(old.stream, before)).toEqual([
      { ...plain, typeUrl: NAME_TABLE_TYPE, nonce: "3", version: kind === "sotw" ? "v3" : "", unsub },
      { ...plain, typeUrl: PROXY_CONFIG_TYPE, nonce: "4", version: kind === "sotw" ? "v4" : "", unsub },
    ]);
  });

  test("health goes to the newer one alone, and with everything else back to the older one", async () => {
    await using agent = await startPair();
    agent.proxy.reportHealth({ healthy: true });
    const old = await agent.connect("envoy", 0);
    await using _old = old.client;
    await old.stream.received(4);
    const young = await agent.connect("envoy", 1);
    await young.stream.received(4);
    const before = 4;
    agent.proxy.reportHealth({ healthy: false, message: "down" });
    await young.stream.received(5);
    expect(young.stream.types().at(-1)).toBe(HEALTH);
    expect(old.stream.requests).toHaveLength(before);

    await young.client[Symbol.asyncDispose]();
    await old.stream.received(before + 3);
    expect(since(old.stream, before)).toEqual([...asksAgain, { ...plain, typeUrl: HEALTH, error: "down" }]);
    old.stream.send(push(kind, NAME_TABLE_TYPE, ["mine again"], { nonce: "9", version: "v9" }));
    await old.stream.received(before + 4);
    expect(agent.handled).toEqual(["mine again"]);
  });

  test("a table that was on its way when the stream handed over is not taken", async () => {
    await using agent = await startPair();
    const old = await agent.connect("envoy", 0);
    await using _old = old.client;
    await old.stream.received(3);
    // So large that its beginning is there long before its end: the hand-over falls between the two, or before both.
    old.stream.send(push(kind, NAME_TABLE_TYPE, ["late".repeat(4_000_000)], { nonce: "1" }));
    const young = await agent.connect("envoy", 1);
    await using _young = young.client;
    await old.stream.received(4);
    expect(since(old.stream, 3)[0]).toMatchObject({ typeUrl: NAME_TABLE_TYPE, nonce: "1", error: undefined });
    young.stream.send(push(kind, NAME_TABLE_TYPE, ["new"], { nonce: "2" }));
    await young.stream.received(4);
    expect(agent.handled.at(-1)).toBe("new");
  });

  test("a gRPC client hands over to Envoy, and is handed back to", async () => {
    await using agent = await startPair();
    const other = await agent.connect("gRPC Node Pure JS", 0);
    await using _other = other.client;
    await other.stream.received(3);
    const young = await agent.connect("envoy", 1);
    await young.stream.received(3);
    other.stream.send(push(kind, NAME_TABLE_TYPE, ["late"], { nonce: "1" }));
    await other.stream.received(4);
    expect(agent.handled).toEqual([]);
    await young.client[Symbol.asyncDispose]();
    await other.stream.received(6);
    expect(since(other.stream, 4)).toEqual(asksAgain);
  });

  test("a stream that never asked for the agent's types gives it nothing, and no answer that would subscribe", async () => {
    await using agent = await startPair();
    const young = await agent.connect("envoy", 0);
    await using _young = young.client;
    await young.stream.received(3);
    const other = await agent.connect("gRPC Node Pure JS", 1);
    await using _other = other.client;
    await other.stream.received(1);
    other.stream.send(push(kind, NAME_TABLE_TYPE, ["unasked"], { nonce: "1" }));
    other.stream.send(push(kind, CDS, ["cluster"]));
    await other.client.received(1);
    expect(agent.handled).toEqual([]);
    expect(other.stream.types()).toEqual([LDS]);
  });

  test("what is retained from before does not replace what a stream with a control plane has brought", async () => {
    using socket = socketFolder();
    const directory = join(dirname(dirname(socket.path)), "last-good");
    const { handled, handlers } = createHandlers();
    const times = { graceMs: 0, probeEveryMs: 50, writeEveryMs: 1 };
    await using started = await startLastGood({ directory, nodeId: NODE_ID, ...times, log: silentLogger });
    // The control plane is taken for silent when the test says so, not after a time that a busy machine needs for an answer.
    const silence = new AbortController();
    const outOfPatience = () => untilAborted(silence.signal);
    const lastGood = { ...started, outOfPatience };
    await using server = await startControlPlane();
    await using _running = await startTestProxy(server.address, socket.path, { handlers, lastGood });
    {
      await using client = openRawAds(socket.path, kind);
      client.send(ask(kind, LDS, envoy));
      const stream = await server.stream(0);
      await stream.received(3);
      stream.send(push(kind, NAME_TABLE_TYPE, ["old"], { nonce: "1" }));
      await stream.received(4);
    }
    await using other = openRawAds(socket.path, kind);
    other.send(ask(kind, LDS, { agent: "grpc" }));
    const live = await server.stream(1);
    await live.received(3);
    live.send(push(kind, NAME_TABLE_TYPE, ["newer"], { nonce: "2" }));
    await live.received(4);

    // This one is accepted and never answered; its client is served from what is kept.
    await using client = openRawAds(socket.path, kind);
    client.send(ask(kind, LDS, envoy));
    const silent = await server.stream(2);
    await silent.received(3);
    silence.abort();
    await client.received(1);
    expect(handled).toEqual(["old", "newer"]);
    // The part goes back to the one that has a control plane.
    const resigned = takesBack(NAME_TABLE_TYPE, "2");
    await live.received(6 + resigned.length);
    expect(since(live, 4)).toEqual([...resigned, ...asksAgain]);
  });
});
