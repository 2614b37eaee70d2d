import { connect, type Server, type Socket } from "node:net";
import { isDeepStrictEqual } from "node:util";
import type { MeshPlan, PlannedService } from "../core/mesh-plan.ts";
import { listen } from "../process/free-ports.ts";

/** Passes connections from the namespaces on to services that already run outside; the machine forwards no packets for it. */
export interface Relays {
  /** Opens what the plan has more and closes what it has less; the others go on. */
  follow(plan: MeshPlan): Promise<void>;
  stop(): Promise<void>;
}

type Relayed = Required<{ [Key in "endpoint" | "relayTo"]: NonNullable<PlannedService[Key]> }>;

interface Relay extends Relayed {
  readonly server: Server;
  readonly sockets: ReadonlySet<Socket>;
}

export async function startRelays(plan: MeshPlan): Promise<Relays> {
  let open: readonly Relay[] = [];
  const follow = async (next: MeshPlan) => {
    const wanted = next.services.flatMap(({ endpoint, relayTo }) =>
      endpoint === undefined || relayTo === undefined ? [] : [{ endpoint, relayTo }],
    );
    const isSame = (one: Relayed, other: Relayed) =>
      isDeepStrictEqual([one.endpoint, one.relayTo], [other.endpoint, other.relayTo]);
    const gone = open.filter((relay) => !wanted.some((each) => isSame(each, relay)));
    await Promise.all(gone.map(close));
    open = open.filter((relay) => !gone.includes(relay));
    const missing = wanted.filter((each) => !open.some((relay) => isSame(relay, each)));
    const tried = await Promise.allSettled(missing.map(openRelay));
    // Those that are open are known, also where another one failed: they are closed one day.
    open = [...open, ...tried.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []))];
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
  return { follow, stop };
}

async function openRelay({ endpoint, relayTo }: Relayed): Promise<Relay> {
  const sockets = new Set<Socket>();
  const server = await listen(endpoint.port, endpoint.host);
  server.on("connection", (client) => {
    const upstream = connect(relayTo.port, relayTo.host);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  return { endpoint, relayTo, server, sockets };
}

function close({ server, sockets }: Relay): Promise<void> {
  for (const socket of sockets) socket.destroy();
  return new Promise((closed) => server.close(() => closed()));
}
