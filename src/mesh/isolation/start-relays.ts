import { connect, type Socket } from "node:net";
import type { MeshPlan } from "../core/mesh-plan.ts";
import { listen } from "../process/free-ports.ts";

/** Passes connections from the namespaces on to services that already run outside; the machine forwards no packets for it. */
export async function startRelays(plan: MeshPlan): Promise<{ stop(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const servers = await Promise.all(
    plan.services.map(async ({ endpoint, relayTo }) => {
      if (endpoint === undefined || relayTo === undefined) return undefined;
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
      return server;
    }),
  );
  return {
    async stop() {
      for (const socket of sockets) socket.destroy();
      await Promise.all(
        servers.map((server) => new Promise<void>((closed) => (server ? server.close(() => closed()) : closed()))),
      );
    },
  };
}
