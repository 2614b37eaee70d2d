import { describe, expect, test } from "vitest";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { MetricRegistry } from "../../base/metric-registry.ts";
import type { ServerWriter } from "../../grpc/server/server-types.ts";
import { parseNode } from "../../mesh-model/proxy/parse-node.ts";
import type { PushSnapshot } from "../../mesh-model/push-snapshot.ts";
import type { DeltaDiscoveryRequest, DiscoveryRequest } from "../../protobuf/wire/discovery.ts";
import { createNameList } from "../../xds/name-list.ts";
import { decodeNode } from "../../xds/node.ts";
import { createResourceSet } from "../../xds/resource-set.ts";
import type { AdsContext } from "./ads-context.ts";
import { createConnections } from "./connections.ts";
import { createIdentityBudgets, DEFAULT_IDENTITY_LIMITS } from "./identity-budgets.ts";
import { declareAdsMetrics } from "./metrics.ts";
import { serveStream } from "./serve-stream.ts";

const request = (given: Partial<DiscoveryRequest>): DiscoveryRequest => ({
  versionInfo: "",
  node: undefined,
  resourceNames: [],
  typeUrl: "",
  responseNonce: "",
  errorDetail: undefined,
  ...given,
});

function setUp(page: () => string, more: Partial<AdsContext> = {}) {
  const metrics = declareAdsMetrics(new MetricRegistry());
  const context: AdsContext = {
    connections: createConnections(metrics),
    streams: new Set(),
    source: { all: () => expect.unreachable(), named: () => expect.unreachable() },
    snapshot: () => ({}) as PushSnapshot,
    parseNode: (node) => parseNode(decodeNode(node)),
    admit: async () => ["spiffe://cluster.local/ns/istio-system/sa/operator"],
    budgets: createIdentityBudgets(DEFAULT_IDENTITY_LIMITS, metrics.budgetRefusals),
    toNameList: createNameList,
    debugPage: () => ({ status: 200, body: page() }),
    settings: { checksIdentity: true, systemNamespace: "istio-system", controlPlane: "{}" },
    metrics,
    log: recordLog(),
    now: () => 0,
    ...more,
  };
  return context;
}

const NODE = { id: "sidecar~10.0.0.1~op.istio-system~istio-system.svc.cluster.local" };
const callThat = (more: Partial<ServerWriter<Uint8Array>> = {}) =>
  ({
    peer: { address: "127.0.0.1:1", tls: undefined },
    offerGzip: () => false,
    ...more,
  }) as unknown as ServerWriter<Uint8Array>;

describe("a stream that is ended before its client introduced itself", () => {
  test("is over at once, and leaves nothing behind", async () => {
    const context = setUp(() => "");
    let isRead = false;
    async function* silence() {
      isRead = true;
      await new Promise(() => undefined);
      yield request({});
    }
    const served = serveStream("delta", silence() as AsyncIterable<DiscoveryRequest>, callThat(), context);
    await expect.poll(() => isRead).toBe(true);
    for (const close of context.streams) close("the server is stopping");
    await expect(served).rejects.toMatchObject({ code: "UNAVAILABLE", message: "the server is stopping" });
    expect(context.streams.size).toBe(0);
  });

  test("is not a connection, also when it is let in later and has something to say", async () => {
    let letIn: (identities: readonly string[]) => void = () => undefined;
    const admit = () =>
      new Promise<readonly string[]>((resolve) => {
        letIn = resolve;
      });
    const context = setUp(() => "", { admit });
    let isOver = false;
    async function* requests() {
      try {
        yield request({ node: NODE, typeUrl: "unknown" });
      } finally {
        isOver = true;
      }
    }
    const served = serveStream("sotw", requests(), callThat(), context);
    for (const close of context.streams) close("the stream has reached its age");
    await expect(served).rejects.toMatchObject({ code: "UNAVAILABLE" });
    letIn([]);
    await expect.poll(() => isOver).toBe(true);
    expect(context.connections.all()).toEqual([]);
  });
});

test("who does not read one debug page is not heard further until it has", async () => {
  const rooms: (() => void)[] = [];
  let pages = 0;
  const call = callThat({ writeChunks: () => new Promise<void>((resolve) => void rooms.push(resolve)) });
  const context = setUp(() => `page ${pages++}`);
  const ask = { typeUrl: "istio.io/debug", resourceNames: ["registryz"] };
  async function* requests() {
    yield request({ ...ask, node: NODE });
    for (let more = 0; more < 5; more += 1) yield request(ask);
  }
  const served = serveStream("sotw", requests(), call, context);
  for (let wanted = 1; wanted <= 6; wanted += 1) {
    await expect.poll(() => rooms.length).toBe(wanted);
    await new Promise((resolve) => setImmediate(resolve));
    expect(pages).toBe(wanted);
    rooms.at(-1)?.();
  }
  await served;
  expect(context.connections.all()).toEqual([]);
});

describe("who asks for more names than any proxy can hold", () => {
  const names = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `outbound|80||s${from + at}`);
  const EDS = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
  const reason = "100001 names of type EDS are asked for, at most 100000 are answered";

  test("is sent away before anything is made for it", async () => {
    const context = setUp(() => "");
    async function* requests() {
      yield request({ node: NODE, typeUrl: EDS, resourceNames: names(100_001) });
    }
    const served = serveStream("sotw", requests(), callThat(), context);
    await expect(served).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED", message: reason });
    expect(context.connections.all()).toEqual([]);
  });

  test("is sent away as well when it asks for them little by little", async () => {
    const context = setUp(() => "", {
      source: { all: () => expect.unreachable(), named: () => createResourceSet([]) },
    });
    const base = { responseNonce: "", errorDetail: undefined, initialResourceVersions: new Map<string, string>() };
    async function* requests() {
      for (const [from, count] of [
        [0, 60_000],
        [60_000, 40_001],
      ] as const) {
        const resourceNamesSubscribe = names(count, from);
        yield { ...base, node: NODE, typeUrl: EDS, resourceNamesSubscribe, resourceNamesUnsubscribe: [] };
      }
    }
    const call = callThat({ writeChunks: () => undefined });
    const served = serveStream("delta", requests() as AsyncIterable<DeltaDiscoveryRequest>, call, context);
    await expect(served).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED", message: reason });
  });
});
