import fc from "fast-check";
import { expect, test } from "vitest";
import { createTestMesh } from "../../../test/support/mesh-model/create-test-mesh.ts";
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
import {
  createSettledClients,
  followClusters,
  type SettledClient,
  turn,
} from "../../../test/support/mesh-model/settled-clients.ts";
import { documents, type TestObject } from "../../../test/support/mesh-model/test-objects.ts";
import { traitsOf } from "../../xds/xds-types.ts";

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
  120_000 + RUNS * 500,
);

function createWorld(objects: readonly TestObject[], chosen: readonly ChosenClient[]) {
  const mesh = createTestMesh(documents(...objects));
  const { clients, context, take, settle, close } = createSettledClients(mesh, chosen);
  const clientAt = (index: number) => clients[index] ?? expect.unreachable();
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
        followClusters(clientAt(action.at).client);
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
  return { begin, act, settle, close };
}

/** As a client of its kind can ask: in state of the world, a list without names means everything or nothing, by the type. */
function want({ client, node }: SettledClient, { type, add, drop, star }: Wish): void {
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
