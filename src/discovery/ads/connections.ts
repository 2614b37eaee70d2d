import type { Connection, OwnedConnection } from "./connection.ts";
import type { AdsMetrics } from "./metrics.ts";

/** Every client that has introduced itself, in the order of arrival. */
export interface Connections {
  all(): readonly Connection[];
  /** By the id of a stream, or by the name of the proxy that has it. */
  find(id: string): Connection | undefined;
  nextNumber(): number;
  add(connection: OwnedConnection): void;
  remove(connection: OwnedConnection): void;
}

export function createConnections(metrics: AdsMetrics): Connections {
  const connections = new Map<string, OwnedConnection>();
  const versions = new Map<string, number>();
  let number = 0;
  const count = (version: string, delta: number) => {
    const clients = (versions.get(version) ?? 0) + delta;
    if (clients > 0) {
      versions.set(version, clients);
      metrics.connected.set(clients, [version]);
    } else {
      // What clients call themselves is up to them: series that stay would grow without end.
      versions.delete(version);
      metrics.connected.remove([version]);
    }
  };
  return {
    all: () => [...connections.values()],
    find: (id) => connections.get(id) ?? [...connections.values()].findLast((each) => each.node.id === id),
    nextNumber: () => {
      number += 1;
      return number;
    },
    add: (connection) => {
      connections.set(connection.id, connection);
      count(versionOf(connection), 1);
    },
    remove: (connection) => {
      connection.ended();
      if (connections.delete(connection.id)) count(versionOf(connection), -1);
    },
  };
}

/** What looks like no version is none: it would be a label on a page that others read. */
function versionOf({ node }: Connection): string {
  return /^[\w.+~-]{1,64}$/.test(node.istioVersion) ? node.istioVersion : "unknown";
}
