import { existsSync } from "node:fs";
import { join } from "node:path";
import { startAgentProcess } from "../../test/support/agent/agent-process.ts";
import { until } from "../../test/support/wait/until.ts";
import type { MeshControlPlane } from "../../test/support/xds/mesh-control-plane.ts";
import { type ProcessFigures, processFigures } from "../process-figures.ts";

export interface BenchAgent extends ProcessFigures, AsyncDisposable {
  readonly socket: string;
}

/** A whole agent without an Envoy: its certificates come from `ca`, its configuration unencrypted from `upstream`. */
export async function startAgent(program: string, upstream: string, ca: MeshControlPlane): Promise<BenchAgent> {
  const agent = await startAgentProcess({
    controlPlane: ca,
    // The shell takes the launcher's place in the command line, the same for every program.
    wrapper: ["sh", "-c", `shift; exec "${program}" "$@"`, "sh"],
    env: { DISABLE_ENVOY: "true", CA_ADDR: `localhost:${ca.port}` },
    proxyConfig: { discoveryAddress: upstream, controlPlaneAuthPolicy: "NONE" },
  });
  const socket = join(agent.folder, "etc/istio/proxy/XDS");
  await until(async () => (existsSync(socket) ? undefined : `no socket: ${agent.stdout().slice(-2000)}`));
  return { ...processFigures(agent.pid), socket, [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose]() };
}
