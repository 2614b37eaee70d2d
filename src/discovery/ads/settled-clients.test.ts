import fc from "fast-check";
import { expect, test } from "vitest";
import { recordLog } from "../../../test/support/log/recording-log.ts";
import { createTestMesh, type TestNode, testNode } from "../../../test/support/mesh-model/create-test-mesh.ts";
import { createModelClient, type ModelClient } from "../../../test/support/mesh-model/model-client.ts";
import {
  type Action,
  ANY_ACTIONS,
  ANY_CLIENTS,
  type ChosenClient,
  NAMES,
  TYPES,
  type Wish,
} from "../../../test/support/mesh-model/random-actions.ts";
import { ANY_AGED_RULE } from "../../../test/support/mesh-model/random-rules.ts";
import { documents, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";
import { MetricRegistry } from "../../base/metric-registry.ts";
import { createResourceSource } from "../../envoy-config/create-resource-source.ts";
import type { ProxyView } from "../../mesh-model/push-snapshot.ts";
import { createNameLists } from "../../xds/name-list.ts";
import type { ResourceSource } from "../../xds/resource-source.ts";
import { traitsOf } from "../../xds/xds-types.ts";
import type { AdsContext } from "./ads-context.ts";
import { createConnections } from "./connections.ts";
import { createIdentityBudgets, DEFAULT_IDENTITY_LIMITS } from "./identity-budgets.ts";
import { declareAdsMetrics } from "./metrics.ts";

/** What is rare shows in thousands: `MODEL_RUNS=5000` is worth its minutes after changes to stores, snapshots or streams. */
const RUNS = Number(process.env.MODEL_RUNS ?? 120);
const ANY_RULES = fc.array(ANY_AGED_RULE, { maxLength: 8, size: "max" });

test(
  "after any changes of a mesh and its streams, every client ends with what a new one would get, and was sent each thing once",
  async () => {
    await fc.assert(
      fc.asyncProperty(ANY_RULES, ANY_CLIENTS, ANY_ACTIONS, async (objects, clients, actions) => {
        const world = createWorld(objects, clients);
        try {
          await world.begin();
          for (const action of actions) await world.act(action);
          await world.settle();
        } finally {
          world.close();
        }
      }),
      { numRuns: RUNS },
    );
  },
  60_000 + RUNS * 50,
);

function createWorld(objects: readonly TestObject[], chosen: readonly ChosenClient[]) {
  const mesh = createTestMesh(documents(...objects));
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
  const clientAt = (index: number) => clients[index] ?? expect.unreachable();
  const take = () => {
    const taken = mesh.take();
    snapshot = taken.snapshot;
    for (const connection of context.connections.all()) connection.note(taken.changes);
  };
  const versions = new Map<string, string>();
  const settle = async () => {
    for (const { client } of clients) client.resume();
    await readAll(clients);
    take();
    for (const connection of context.connections.all()) await connection.push();
    await readAll(clients);
    const alone = mesh.takeAlone();
    const source = createResourceSource({ onProblem: () => undefined });
    for (const { client, node } of clients) {
      checkHolds(client, alone.view(testNode(node)), source);
      checkVersions(client, versions);
      client.forgetAsked();
    }
    expect(log.lines.filter(({ level }) => level === "error")).toEqual([]);
  };
  const act = async (action: Action) => {
    switch (action.do) {
      case "put":
        mesh.put(documents(action.object));
        break;
      case "delete": {
        const { kind, name, namespace = "default" } = action.object;
        mesh.delete({ kind: kind as "Sidecar", namespace, name });
        break;
      }
      case "mesh":
        mesh.setMesh(action.settings);
        break;
      case "snapshot":
        take();
        break;
      case "want":
        want(clientAt(action.at), action);
        break;
      case "push":
        void context.connections.all()[action.at]?.push();
        break;
      case "follow":
        follow(clientAt(action.at).client);
        break;
      case "stall":
      case "resume":
      case "reconnect":
        clientAt(action.at).client[action.do]();
        break;
      case "read":
        clientAt(action.at).client.read(action.refuses);
        break;
      case "settle":
        await settle();
        break;
    }
    await turn();
  };
  const begin = async () => {
    for (const [index, { asks }] of chosen.entries()) {
      if (!asks) continue;
      for (const type of TYPES) want(clientAt(index), { type, add: [0, 1, 2, 3], drop: [], star: "add" });
    }
    await settle();
  };
  const close = () => {
    for (const { client } of clients) client.close();
  };
  return { begin, act, settle, close };
}

/** Everything that is under way in this process has happened. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

async function readAll(clients: readonly { readonly client: ModelClient }[]): Promise<void> {
  for (let round = 0; round < 500; round += 1) {
    await turn();
    const waiting = clients.filter(({ client }) => client.unread > 0);
    if (waiting.length === 0) return;
    for (const { client } of waiting) client.read(false);
  }
  throw new Error("answers do not end");
}

/** As a client of its kind can ask: in state of the world, a list without names means everything or nothing, by the type. */
function want({ client, node }: { client: ModelClient; node: TestNode }, { type, add, drop, star }: Wish): void {
  const { needsNames } = traitsOf(type);
  const isGrpc = node.metadata?.GENERATOR === "grpc";
  if (isGrpc && type === "NDS") return;
  const has = client.types.get(type)?.wanted;
  if (needsNames || isGrpc || (client.protocol === "delta" && star === "leave" && type !== "NDS")) {
    const added = namesAt(type, add);
    const dropped = namesAt(type, drop).filter((name) => has?.names.has(name) && !added.includes(name));
    const isEmptied = has?.isWildcard !== true && new Set([...(has?.names ?? []), ...added]).size === dropped.length;
    if (added.length + dropped.length === 0 || (isEmptied && !needsNames && client.protocol === "sotw")) return;
    client.want(type, { add: added, drop: dropped });
  } else if (star !== "drop") client.want(type, { add: ["*"] });
  else if (client.protocol === "delta" && has?.isWildcard) client.want(type, { drop: ["*"] });
}

function namesAt(type: Wish["type"], places: readonly number[]): readonly string[] {
  const names = NAMES[type];
  return [...new Set(places.map((place) => names[place % names.length] ?? ""))];
}

/** As Envoy does: it wants the endpoints of the clusters that it holds. */
function follow(client: ModelClient): void {
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

/** Equal content has one version, another content another. */
function checkVersions({ protocol, types }: ModelClient, known: Map<string, string>): void {
  if (protocol === "sotw") return;
  for (const [type, { held }] of types) {
    for (const [name, { version, any }] of held) {
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
