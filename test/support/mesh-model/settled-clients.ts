import { expect } from "vitest";
import { MetricRegistry } from "../../../src/base/metric-registry.ts";
import type { AdsContext } from "../../../src/discovery/ads/ads-context.ts";
import { createConnections } from "../../../src/discovery/ads/connections.ts";
import { createIdentityBudgets, DEFAULT_IDENTITY_LIMITS } from "../../../src/discovery/ads/identity-budgets.ts";
import { declareAdsMetrics } from "../../../src/discovery/ads/metrics.ts";
import { createResourceSource } from "../../../src/envoy-config/create-resource-source.ts";
import type { ProxyView } from "../../../src/mesh-model/push-snapshot.ts";
import type { XdsProtocol } from "../../../src/xds/methods.ts";
import { createNameLists } from "../../../src/xds/name-list.ts";
import type { EncodedResource, ResourceSource } from "../../../src/xds/resource-source.ts";
import { recordLog } from "../log/recording-log.ts";
import { type TestMesh, type TestNode, testNode } from "./create-test-mesh.ts";
import { createModelClient, type Held, type ModelClient } from "./model-client.ts";

export interface SettledClient {
  readonly node: TestNode;
  readonly client: ModelClient;
}

/** A control plane without network that remembers what it made, and its clients. */
export interface SettledClients {
  readonly clients: readonly SettledClient[];
  readonly context: AdsContext;
  /** The next snapshot of the mesh; nothing is pushed. */
  take(): void;
  /**
   * Pushes, lets every client read to the end, and compares what it holds with what a control plane without any past would send it.
   * Returns how many answers were read. `state`: the mesh is as it was whenever this was last said.
   */
  settle(state?: string): Promise<number>;
  close(): void;
}

/** One stream for each of the chosen ones. */
export function createSettledClients(
  mesh: TestMesh,
  chosen: readonly { readonly node: TestNode; readonly protocol: XdsProtocol }[],
): SettledClients {
  let { snapshot } = mesh.take();
  const log = recordLog();
  const metrics = declareAdsMetrics(new MetricRegistry());
  const context: AdsContext = {
    connections: createConnections(metrics),
    streams: new Set(),
    source: createResourceSource({ onProblem: () => undefined }),
    snapshot: () => snapshot,
    parseNode: ({ id }) => testNode(chosen[Number(id)]?.node),
    admit: async () => [],
    budgets: createIdentityBudgets(DEFAULT_IDENTITY_LIMITS, metrics.budgetRefusals),
    toNameList: createNameLists(),
    debugPage: () => undefined,
    settings: { checksIdentity: true, systemNamespace: "istio-system", controlPlane: "{}" },
    metrics,
    log,
    now: () => 0,
  };
  const clients = chosen.map(({ node, protocol }, index) => ({
    node,
    client: createModelClient(protocol, { id: String(index) }, context),
  }));
  const take = () => {
    snapshot = mesh.take().snapshot;
  };
  const versions: Versions = { known: new Map(), checked: new WeakSet() };
  const states = new Map<string | undefined, ReturnType<typeof unremembered>>();
  const settle = async (state?: string) => {
    for (const { client } of clients) client.resume();
    const early = await readAll(clients);
    take();
    for (const connection of context.connections.all()) await connection.push();
    const answers = await readAll(clients);
    const alone = states.get(state) ?? unremembered(mesh);
    if (state !== undefined) states.set(state, alone);
    for (const { client, node } of clients) {
      checkHolds(client, alone.viewOf(node), alone.source);
      checkVersions(client, versions);
      client.forgetAsked();
    }
    expect(log.lines.filter(({ level }) => level === "error")).toEqual([]);
    return early + answers;
  };
  const close = () => {
    for (const { client } of clients) client.close();
  };
  return { clients, context, take, settle, close };
}

/** A control plane that has just been started on the mesh. */
function unremembered(mesh: TestMesh) {
  const snapshot = mesh.takeAlone();
  const views = new Map<TestNode, ProxyView>();
  return {
    source: createResourceSource({ onProblem: () => undefined }),
    viewOf: (node: TestNode): ProxyView => {
      const view = views.get(node) ?? snapshot.view(testNode(node));
      views.set(node, view);
      return view;
    },
  };
}

/** Everything that is under way in this process has happened. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Answers that wait are read, and those to what the reading asks for. */
async function readAll(clients: readonly SettledClient[]): Promise<number> {
  let answers = 0;
  for (let round = 0; round < 500; round += 1) {
    await turn();
    const waiting = clients.filter(({ client }) => client.unread > 0);
    if (waiting.length === 0) return answers;
    answers += waiting.length;
    for (const { client } of waiting) client.read(false);
  }
  throw new Error("answers do not end");
}

/** As Envoy does: it wants the endpoints of the clusters that it holds. */
export function followClusters(client: ModelClient): void {
  const clusters = [...(client.types.get("CDS")?.held.keys() ?? [])].filter((name) => name.startsWith("outbound|"));
  const wanted = client.types.get("EDS")?.wanted.names ?? new Set();
  const add = clusters.filter((name) => !wanted.has(name));
  const drop = [...wanted].filter((name) => !clusters.includes(name));
  if (add.length + drop.length > 0) client.want("EDS", { add, drop });
}

/** The same as what is made for an unknown proxy, from a mesh of which nothing is remembered. */
function checkHolds({ protocol, types }: ModelClient, view: ProxyView, source: ResourceSource<ProxyView>): void {
  for (const [type, { wanted, held, refused }] of types) {
    // Extensions in use are not taken away from a client.
    const mayStay = (name: string) => type === "ECDS" && !resources.some((resource) => resource.name === name);
    const { resources } = wanted.isWildcard
      ? source.all(view, type)
      : source.named(view, type, [...wanted.names].sort());
    const isHeld = ({ name, version, any }: EncodedResource) => {
      const has = held.get(name);
      return has !== undefined && (protocol === "sotw" || has.version === version) && has.any.equals(any);
    };
    if (refused.size === 0 && held.size === resources.length && resources.every(isHeld)) continue;
    const entry = (name: string, version: string, any: Buffer) =>
      `${name} ${protocol === "delta" ? version : ""} ${any.toString("latin1")}`;
    const has = [...held]
      .filter(([name]) => !refused.has(name) && !mayStay(name))
      .map(([name, { version, any }]) => entry(name, version, any));
    const should = resources
      .filter(({ name }) => !refused.has(name))
      .map(({ name, version, any }) => entry(name, version, any));
    expect(has.sort(), `${type} of ${view.node.id}, ${protocol}`).toEqual(should.sort());
  }
}

interface Versions {
  readonly known: Map<string, string>;
  readonly checked: WeakSet<Held>;
}

/** Equal content has one version, another content another. */
function checkVersions({ protocol, types }: ModelClient, { known, checked }: Versions): void {
  if (protocol === "sotw") return;
  for (const [type, { held }] of types) {
    for (const [name, one] of held) {
      if (checked.has(one)) continue;
      checked.add(one);
      const { version, any } = one;
      const content = any.toString("latin1");
      for (const [key, value] of [
        [`version ${type} ${name} ${version}`, content],
        [`content ${type} ${name} ${content}`, version],
      ] as const) {
        expect(known.get(key) ?? value).toBe(value);
        known.set(key, value);
      }
    }
  }
}
