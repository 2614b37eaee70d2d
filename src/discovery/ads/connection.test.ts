import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { MetricRegistry } from "../../base/metric-registry.ts";
import { GrpcError } from "../../grpc/status.ts";
import type { ProxyNode } from "../../mesh-model/proxy/proxy-node.ts";
import type { ProxyView, PushSnapshot } from "../../mesh-model/push-snapshot.ts";
import { any, discoveryResponse } from "../../protobuf/wire/discovery.ts";
import { sotwBody } from "../../xds/encode-response.ts";
import { createNameList, NO_NAMES } from "../../xds/name-list.ts";
import type { ResourceSet, ResourceSource } from "../../xds/resource-source.ts";
import { createSubscription } from "../../xds/subscription.ts";
import type { XdsType } from "../../xds/xds-types.ts";
import { createConnection } from "./connection.ts";
import { declareAdsMetrics } from "./metrics.ts";

function setOf(names: readonly string[], version: string, bytes: number): ResourceSet {
  const encode = (name: string) => any.encode({ typeUrl: name.repeat(bytes) });
  const resources = names.map((name) => ({ name, version, any: encode(name) }));
  return {
    resources,
    parts: [resources],
    version,
    sotwBody: [sotwBody(resources)],
    get: (name) => resources.find((resource) => resource.name === name),
  };
}

interface Given {
  readonly fails?: (type: XdsType) => boolean;
  /** Instead of a network that takes everything. */
  readonly writes?: () => Promise<void> | undefined;
  readonly sendTimeoutMs?: number;
  readonly compresses?: boolean;
  /** Of each resource. */
  readonly bytes?: number;
}

/** A client whose mesh is one number: every resource has it as its version. */
function connect({ fails = () => false, writes, bytes = 1, ...more }: Given = {}) {
  const closed: string[] = [];
  let version = 1;
  let room: Promise<void> | undefined;
  let snapshot = { version: "1" } as PushSnapshot;
  const node = { id: "n", generator: "", type: "sidecar" } as ProxyNode;
  const views = (of: PushSnapshot) => ({ node, snapshot: of }) as ProxyView;
  const make = (type: XdsType, names: readonly string[]) => {
    if (fails(type)) throw new Error(`no ${type}`);
    return setOf(names, String(version), bytes);
  };
  const source: ResourceSource<ProxyView> = {
    all: (_view, type) => make(type, ["a", "b"]),
    named: (_view, type, names) => make(type, names),
  };
  const sizes: string[] = [];
  const written: { typeUrl: string; versionInfo: string }[] = [];
  const log = recordLog();
  const registry = new MetricRegistry();
  const connection = createConnection({
    id: "n-1",
    node,
    protocol: "sotw",
    peerAddress: "127.0.0.1:1",
    identities: [],
    source,
    snapshot: () => snapshot,
    write: (chunks, compressed) => {
      if (writes !== undefined) return writes();
      const message = Buffer.concat(chunks);
      written.push(discoveryResponse.decode(compressed ? gunzipSync(message) : message));
      sizes.push(`${compressed ? "gzip" : "identity"} ${message.length}`);
      return room;
    },
    close: (reason) => closed.push(reason),
    ...more,
    metrics: declareAdsMetrics(registry),
    log,
    now: () => performance.now(),
  });
  const subscribe = (type: XdsType, names: readonly string[] = []) =>
    connection.apply(type, {
      subscription: createSubscription(names.length === 0, names.length === 0 ? NO_NAMES : createNameList(names)),
      event: "subscribed",
      answer: "everything",
    });
  const push = () => {
    version += 1;
    const current = version;
    snapshot = { version: String(current), view: () => views(snapshot) } as unknown as PushSnapshot;
    return connection.push();
  };
  snapshot = { version: "1", view: () => views(snapshot) } as unknown as PushSnapshot;
  return {
    connection,
    closed,
    written,
    sizes,
    log,
    registry,
    subscribe,
    push,
    sent: () => written.map(({ typeUrl, versionInfo }) => `${typeUrl.split(".").at(-1)} ${versionInfo}`),
    block: () => {
      let release: () => void = () => undefined;
      room = new Promise((resolve) => {
        release = () => {
          room = undefined;
          resolve();
        };
      });
      return () => release();
    },
  };
}

test("a push goes through the types in their order, regardless of the order of subscriptions", async () => {
  const client = connect();
  for (const type of ["NDS", "RDS", "LDS", "EDS", "CDS"] as const) {
    client.subscribe(type, type === "RDS" || type === "EDS" ? ["a"] : []);
  }
  client.written.length = 0;
  await client.push();
  expect(client.sent()).toEqual([
    "Cluster 2",
    "ClusterLoadAssignment 2",
    "Listener 2",
    "RouteConfiguration 2",
    "NameTable 2",
  ]);
});

test("a client that does not read gets, when it reads again, the newest state and nothing in between", async () => {
  const client = connect();
  const release = client.block();
  client.subscribe("CDS");
  expect(client.sent()).toEqual(["Cluster 1"]);
  for (let round = 0; round < 50; round += 1) await client.push();
  expect(client.sent()).toEqual(["Cluster 1"]);
  release();
  await expect.poll(client.sent).toEqual(["Cluster 1", "Cluster 51"]);
});

test("a type that cannot be made is left out, reported, counted, and tried again", async () => {
  let broken = true;
  const client = connect({ fails: (type) => broken && type === "EDS" });
  client.subscribe("CDS");
  client.subscribe("EDS", ["a"]);
  await expect.poll(() => client.log.text()).toContain("no EDS");
  expect(client.registry.render()).toContain("pilot_total_xds_internal_errors 1");
  expect(client.sent()).toEqual(["Cluster 1"]);
  broken = false;
  await client.push();
  expect(client.sent()).toEqual(["Cluster 1", "Cluster 2", "ClusterLoadAssignment 2"]);
});

describe("bytes of answers", () => {
  const sent = ({ registry }: ReturnType<typeof connect>) =>
    registry
      .render()
      .split("\n")
      .filter((line) => line.startsWith("pilot_xds_sent_bytes_total{"))
      .map((line) => /"(.+)"\} (\d+)/.exec(line)?.slice(1).join(" "));

  test.each([
    { compresses: true, bytes: 10_000, encoding: "gzip" },
    { compresses: true, bytes: 1000, encoding: "identity" },
    { compresses: false, bytes: 10_000, encoding: "identity" },
  ])("of $bytes each, to a client that takes gzip: $compresses, are $encoding and counted as such", (given) => {
    const client = connect(given);
    client.subscribe("CDS");
    expect(client.sent()).toEqual(["Cluster 1"]);
    expect(client.sizes[0]).toMatch(new RegExp(`^${given.encoding} `));
    expect(sent(client)).toEqual(client.sizes);
  });

  test("are counted before compression in the histogram of sizes", () => {
    const client = connect({ compresses: true, bytes: 10_000 });
    client.subscribe("CDS");
    const sum = /pilot_xds_config_size_bytes_sum\{type="cds"\} (\d+)/.exec(client.registry.render())?.[1];
    expect(Number(sum)).toBeGreaterThan(20_000);
    expect(Number(client.sizes[0]?.split(" ")[1])).toBeLessThan(1000);
  });
});

describe("a send that fails", () => {
  test.each([
    { code: "RESOURCE_EXHAUSTED", how: "at once", counted: true },
    { code: "INTERNAL", how: "later", counted: true },
    { code: "CANCELLED", how: "later", counted: false },
    { code: "UNAVAILABLE", how: "later", counted: false },
    { code: "CANCELLED", how: "at once", counted: false },
  ] as const)("with $code, $how, counts as one: $counted", async ({ code, how, counted }) => {
    const failure = new GrpcError(code, "it failed");
    const client = connect({
      writes: () => {
        if (how === "at once") throw failure;
        return Promise.reject(failure);
      },
    });
    client.subscribe("CDS");
    await client.push();
    expect(client.registry.render().includes('pilot_xds_pushes{type="cds_senderr"}')).toBe(counted);
  });

  test("because the client does not read ends its stream after the given time, and is counted", async () => {
    const client = connect({ sendTimeoutMs: 20, writes: () => new Promise(() => undefined) });
    client.subscribe("CDS");
    await expect.poll(() => client.closed).toEqual(["the client has not read an answer for 20 ms"]);
    expect(client.registry.render()).toContain("pilot_xds_write_timeout 1\n");
  });

  test("is none when the client reads in time", async () => {
    const client = connect({ sendTimeoutMs: 5000 });
    const release = client.block();
    client.subscribe("CDS");
    release();
    await client.push();
    expect(client.closed).toEqual([]);
    expect(client.registry.render()).not.toMatch(/pilot_xds_write_timeout [1-9]/);
  });
});

test("a refusal shows in a series of its own and leaves with the stream", () => {
  const client = connect();
  client.subscribe("CDS");
  const subscription = client.connection.subscriptions.get("CDS");
  if (subscription === undefined) throw new Error("CDS is not subscribed to");
  client.connection.apply("CDS", {
    subscription: { ...subscription, error: { code: 13, message: "bad" } },
    event: "nacked",
    answer: "nothing",
  });
  expect(client.registry.render()).toContain('pilot_xds_cds_reject{node="n",err="Internal"} 1');
  client.connection.ended();
  expect(client.registry.render()).not.toContain("pilot_xds_cds_reject{");
});

test("an unsubscribed type is not sent any more", async () => {
  const client = connect();
  client.subscribe("EDS", ["a"]);
  client.connection.apply("EDS", { subscription: undefined, event: "unsubscribed", answer: "nothing" });
  await client.push();
  expect(client.sent()).toEqual(["ClusterLoadAssignment 1"]);
});
