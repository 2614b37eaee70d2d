import type { Server, Socket } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { entryPorts } from "../core/entry-ports.ts";
import type { Endpoint, MeshPlan } from "../core/mesh-plan.ts";
import { type Machine, OWN_NETWORK } from "./machine.ts";

/**
 * Passes connections on: from the namespaces to services that already run outside, and from localhost to the entries of the mesh, on the
 * ports of their services where those are free.
 */
export interface Relays {
  /** Entries that localhost leads to, with the port. */
  entries(): Readonly<Record<string, number>>;
  /** Opens what the plan has more and closes what it has less; the others go on. */
  follow(plan: MeshPlan): Promise<void>;
  stop(): Promise<void>;
}

interface Relayed {
  readonly endpoint: Endpoint;
  readonly relayTo: Endpoint;
}

interface Wanted extends Relayed {
  /** The entry whose this is, as `entryNames` has it: somebody else may have the port. */
  readonly entry?: string;
}

interface Relay extends Wanted {
  readonly server: Server;
  readonly sockets: ReadonlySet<Socket>;
}

export async function startRelays(plan: MeshPlan, machine: Machine = OWN_NETWORK): Promise<Relays> {
  let open: readonly Relay[] = [];
  const follow = async (next: MeshPlan) => {
    const wanted = [...outside(next), ...entriesOf(next)];
    const isSame = (one: Relayed, other: Relayed) =>
      isDeepStrictEqual([one.endpoint, one.relayTo], [other.endpoint, other.relayTo]);
    const gone = open.filter((relay) => !wanted.some((each) => isSame(each, relay)));
    await Promise.all(gone.map(close));
    open = open.filter((relay) => !gone.includes(relay));
    const missing = wanted.filter((each) => !open.some((relay) => isSame(relay, each)));
    const tried = await Promise.allSettled(missing.map((each) => openOne(each, machine)));
    // Those that are open are known, also where another one failed: they are closed one day.
    open = [...open, ...tried.flatMap((each) => (each.status === "fulfilled" ? (each.value ?? []) : []))];
    const failed = tried.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  };
  const stop = async () => void (await Promise.all(open.map(close)));
  try {
    await follow(plan);
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  const entries = () =>
    Object.fromEntries(open.flatMap(({ entry, endpoint }) => (entry === undefined ? [] : [[entry, endpoint.port]])));
  return { entries, follow, stop };
}

function outside({ services }: MeshPlan): readonly Wanted[] {
  return services.flatMap(({ endpoints }) =>
    endpoints.flatMap(({ relays }) => relays.map(({ listen: endpoint, to }) => ({ endpoint, relayTo: to }))),
  );
}

/** A gateway without namespaces listens on the machine itself. */
function entriesOf(plan: MeshPlan): readonly Wanted[] {
  return entryPorts(plan)
    .filter(({ isOnMachine }) => !isOnMachine)
    .map(({ entry, host, port }) => ({ entry, endpoint: { host: "127.0.0.1", port }, relayTo: { host, port } }));
}

/** From the machine into the mesh, or from the mesh to what the machine reaches. */
async function openOne(wanted: Wanted, machine: Machine): Promise<Relay | undefined> {
  if (wanted.entry === undefined) return openRelay(wanted, OWN_NETWORK, machine);
  return openRelay(wanted, machine, OWN_NETWORK).catch(() => undefined);
}

async function openRelay(wanted: Wanted, from: Machine, to: Machine): Promise<Relay> {
  const server = await from.listen(wanted.endpoint.port, wanted.endpoint.host);
  return { ...wanted, server, sockets: passOn(server, wanted.relayTo, to) };
}

/** Every connection that comes, to the other address; the sockets that are open. */
export function passOn(server: Server, relayTo: Endpoint, to: Machine = OWN_NETWORK): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", async (client) => {
    sockets.add(client);
    client.on("error", () => client.destroy());
    client.on("close", () => sockets.delete(client));
    const upstream = await to.connect(relayTo.port, relayTo.host).catch(() => undefined);
    if (upstream === undefined || client.destroyed) {
      client.destroy();
      upstream?.destroy();
      return;
    }
    sockets.add(upstream);
    upstream.on("error", () => client.destroy());
    upstream.on("close", () => {
      sockets.delete(upstream);
      client.destroy();
    });
    client.on("close", () => upstream.destroy());
    client.pipe(upstream).pipe(client);
  });
  return sockets;
}

function close({ server, sockets }: Relay): Promise<void> {
  for (const socket of sockets) socket.destroy();
  return new Promise((closed) => server.close(() => closed()));
}
