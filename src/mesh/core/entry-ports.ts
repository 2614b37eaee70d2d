import type { MeshPlan } from "./mesh-plan.ts";

export interface EntryPort {
  /** The service's name; with that of the port behind it for all but its first. */
  readonly entry: string;
  readonly scheme: "http" | "grpc" | "tcp";
  /** Accepts plain text from this machine. */
  readonly host: string;
  readonly port: number;
  /** Where the machine reaches it: not where namespaces are inside a user's, but through a relay. */
  readonly machineHost: string;
  /** Whether this machine's own loopback address is where it listens. */
  readonly isOnMachine: boolean;
}

/** What is reached from outside the mesh: every port of an entry, at its first workload, and of a gateway. */
export function entryPorts({ services, workloads, isolation, network }: MeshPlan): readonly EntryPort[] {
  return services.flatMap(({ name, entry, ports, isGateway }) => {
    const workload = workloads.find(({ service }) => service === name);
    if (!entry || workload === undefined) return [];
    const isOnMachine = isGateway && isolation === "none";
    const host = isOnMachine ? "127.0.0.1" : workload.address;
    const machineHost = network?.rootless ? "127.0.0.1" : host;
    return ports.map(({ name: port, port: number, protocol }, index): EntryPort => {
      const scheme = protocol === "tcp" || protocol === "grpc" ? protocol : "http";
      return { entry: index === 0 ? name : `${name}/${port}`, scheme, host, port: number, machineHost, isOnMachine };
    });
  });
}
