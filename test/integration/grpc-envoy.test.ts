import { connect } from "node:net";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLogger } from "../../src/base/logger.ts";
import { rawMethod } from "../../src/grpc/method.ts";
import { implement } from "../../src/grpc/server/server-types.ts";
import { startGrpcServer } from "../../src/grpc/server/start-grpc-server.ts";
import { GrpcError } from "../../src/grpc/status.ts";
import { GRPC_STATUS_NAMES } from "../../src/protocol/grpc-status-names.ts";
import { http2Cluster } from "../support/envoy/http2-cluster.ts";
import { pipeListener } from "../support/envoy/pipe-listener.ts";
import { type RunningEnvoy, runEnvoy } from "../support/envoy/run-envoy.ts";
import {
  BIDI_END,
  type ContractClient,
  type ContractServer,
  command,
  STREAM_REFUSE,
  socketFolder,
} from "../support/grpc/contract.ts";
import { createJsClient } from "../support/grpc/contract-js.ts";
import { createOurClient, startOurServer } from "../support/grpc/contract-ours.ts";
import { needs } from "../support/needs.ts";

beforeEach(needs("envoy"));

describe.each([
  { caller: "a grpc-js client", create: createJsClient },
  { caller: "our client", create: createOurClient },
])("$caller through Envoy to our server", ({ create }) => {
  const folder = socketFolder();
  const started: { envoy?: RunningEnvoy; server?: ContractServer; client?: ContractClient } = {};

  /** One Envoy for all tests of the group, started by the first of them that is not skipped. */
  beforeEach(async () => {
    if (started.client !== undefined) return;
    const front = `${folder.path}/front`;
    started.server = await startOurServer("unix", folder.path);
    started.envoy = await runEnvoy({
      static_resources: {
        clusters: [http2Cluster("ours", { pipe: { path: started.server.target.replace("unix:", "") } })],
        listeners: [pipeListener(front, "ours")],
      },
    });
    await expect.poll(() => isListening(front)).toBe("listening");
    started.client = create(`unix:${front}`, "unix");
  });

  afterAll(async () => {
    await started.client?.stop();
    await started.envoy?.[Symbol.asyncDispose]();
    await started.server?.stop();
    folder.remove();
  });

  const client = (): ContractClient => started.client ?? expect.unreachable("not started");

  test("a unary call, with metadata both ways", async () => {
    const { response, headers, trailers } = await client().unary(command({ message: "hi" }), {
      metadata: [
        ["x-one", "1"],
        ["x-data-bin", Buffer.from([0, 255])],
      ],
    });
    expect(response.toString()).toBe('{"message":"hi"}');
    for (const entries of [headers, trailers]) {
      expect(entries).toContainEqual(["x-one", "1"]);
      expect(entries).toContainEqual(["x-data-bin", Buffer.from([0, 255])]);
    }
  });

  test.each(GRPC_STATUS_NAMES.map((name, status) => ({ name, status })).slice(1))(
    "status $status ($name) comes through",
    async ({ status }) => {
      const message = "100 % größer";
      await expect(client().unary(command({ status, message }))).rejects.toMatchObject({ code: status, message });
    },
  );

  test("streams in both directions, ended by either side", async () => {
    const first = await client().bidi();
    await first.write(Buffer.from("one"));
    expect((await first.responses.next()).value?.toString()).toBe("one");
    first.end();
    expect((await first.responses.next()).done).toBe(true);
    const second = await client().bidi();
    await second.write(Buffer.from(BIDI_END));
    expect((await second.responses.next()).done).toBe(true);
  });

  test("an upload that is refused before its half-close", async () => {
    const refused = client().clientStream([Buffer.from(STREAM_REFUSE)], { leaveOpen: true });
    await expect(refused).rejects.toMatchObject({ code: 9, message: "refused" });
  });

  test("messages of 5 MB", async () => {
    const sizes: number[] = [];
    for await (const each of await client().serverStream(command({ count: 3, size: 5_000_000 })))
      sizes.push(each.length);
    expect(sizes).toEqual([5_000_000, 5_000_000, 5_000_000]);
  });

  test("cancellation reaches the server", async () => {
    const before = started.server?.cancelled.length ?? 0;
    const controller = new AbortController();
    const stream = await client().serverStream(command({ hang: true }), { signal: controller.signal });
    const responses = stream[Symbol.asyncIterator]();
    await responses.next();
    controller.abort();
    await expect(responses.next()).rejects.toMatchObject({ code: 1 });
    await expect.poll(() => started.server?.cancelled.length).toBe(before + 1);
  });

  test("a deadline reaches the server", async () => {
    await expect(client().unary(command({ hang: true }), { timeoutMs: 80 })).rejects.toMatchObject({ code: 4 });
  });
});

/** Envoy binds its socket a moment before it listens: only a connection tells. */
function isListening(path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const settle = (state: string) => {
      socket.destroy();
      resolve(state);
    };
    socket.once("connect", () => settle("listening"));
    socket.once("error", (failure) => settle(failure.message));
  });
}

describe("Envoy as an ADS client on a unix socket", () => {
  const ADS = rawMethod("/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources", "bidi");
  const folder = socketFolder();
  afterAll(() => folder.remove());
  const opened: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
  });

  test("opens its stream, sends its node first, keeps the stream, and comes back when we end it", async () => {
    const streams: { requests: Buffer[]; userAgent: string | undefined; end: (failure: GrpcError) => void }[] = [];
    const path = `${folder.path}/XDS`;
    const server = await startGrpcServer({
      listen: { path },
      log: silentLogger,
      methods: [
        implement(ADS, async (requests, call) => {
          const ended = new Promise<never>((_resolve, reject) => {
            streams.push({ requests: [], userAgent: call.metadata.get("user-agent"), end: reject });
          });
          const stream = streams.at(-1);
          const reading = (async () => {
            for await (const request of requests) stream?.requests.push(request);
          })();
          await Promise.race([reading, ended]);
        }),
      ],
    });
    opened.push(server);
    const envoy = await runEnvoy({
      node: { id: "sidecar~10.0.0.1~test.default~default.svc.cluster.local", cluster: "test.default" },
      dynamic_resources: {
        ads_config: {
          api_type: "GRPC",
          set_node_on_first_message_only: true,
          transport_api_version: "V3",
          grpc_services: [{ envoy_grpc: { cluster_name: "xds-grpc" } }],
        },
        cds_config: { ads: {}, resource_api_version: "V3", initial_fetch_timeout: "0s" },
        lds_config: { ads: {}, resource_api_version: "V3", initial_fetch_timeout: "0s" },
      },
      static_resources: { clusters: [http2Cluster("xds-grpc", { pipe: { path } })] },
    });
    opened.push(envoy);
    await expect.poll(() => streams[0]?.requests.length ?? envoy.output()).toBe(1);
    const [first] = streams;
    expect(first?.requests[0]?.includes("sidecar~10.0.0.1~test.default~default.svc.cluster.local")).toBe(true);
    expect(first?.requests[0]?.includes("type.googleapis.com/envoy.config.cluster.v3.Cluster")).toBe(true);
    first?.end(new GrpcError("UNAVAILABLE", "the control plane moves"));
    await expect.poll(() => streams[1]?.requests.length ?? 0).toBe(1);
    await envoy.admin("/server_info"); // it still runs
  });
});
