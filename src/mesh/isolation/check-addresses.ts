import { isProxyless, type MeshPlan } from "../core/mesh-plan.ts";
import { MeshError } from "../mesh-error.ts";
import { listenObstacle } from "../process/free-ports.ts";

/** Without namespaces the service ports are bound on this machine: says which cannot be, before anything is started. */
export async function checkAddresses(plan: MeshPlan, before?: MeshPlan): Promise<void> {
  const own = new Set(before === undefined ? [] : addressesOf(before).map(({ host, port }) => `${host} ${port}`));
  const wanted = addressesOf(plan).filter(({ host, port }) => !own.has(`${host} ${port}`));
  const problems = await Promise.all(
    wanted.map(async ({ host, port, who }) => {
      const obstacle = await listenObstacle(port, host);
      return obstacle === undefined ? [] : [{ port, text: `${host}:${port} for ${who}: ${reason(obstacle)}` }];
    }),
  );
  const [first, ...others] = problems.flat();
  if (first === undefined) return;
  const more = others.length === 0 ? "" : ` (and ${others.length} more addresses)`;
  throw new MeshError("address-taken", `port ${first.port} cannot be used: ${first.text}${more}`);
}

interface Wanted {
  readonly host: string;
  readonly port: number;
  readonly who: string;
}

function addressesOf(plan: MeshPlan): readonly Wanted[] {
  return plan.workloads.flatMap((workload) => [
    ...workload.listens.map(({ port }) => ({
      host: workload.kind === "gateway" ? "0.0.0.0" : workload.address,
      port,
      who: `${workload.kind === "gateway" ? "gateway" : "workload"} ${workload.name}`,
    })),
    // Without a sidecar calls go to the other workload's own address.
    ...(isProxyless(plan, workload) ? [] : workload.calls).flatMap(({ host, ports, service: called }) =>
      ports.map(({ port }) => ({ host, port, who: `calls of ${workload.name} to ${called}` })),
    ),
  ]);
}

function reason(code: string): string {
  switch (code) {
    case "EADDRINUSE":
      return "another process listens there or on all addresses; end it, or give the service another port";
    case "EACCES":
      return "ports below 1024 need root; give the service another port";
    case "EADDRNOTAVAIL":
      return "this system has no such address; without namespaces a mesh needs all of 127.0.0.0/8, as Linux has it";
    default:
      return code;
  }
}
