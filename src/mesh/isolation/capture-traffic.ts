import type { Workload } from "../core/mesh-plan.ts";
import type { AgentProgram } from "../process/shared-program.ts";
import { PROXY_UID } from "./namespaces.ts";
import { mustRun } from "./run-tool.ts";

/** Ports of the agent and of Envoy that are asked from outside and must not be captured. */
const OWN_PORTS = "15090,15021,15020";

/** The rules of an injected pod, with DNS, inside the workload's namespace; they go with it. */
export async function captureTraffic(
  workload: Workload,
  { launcher, node }: Pick<AgentProgram, "launcher" | "node">,
): Promise<void> {
  const words = ["istio-iptables", "-p", "15001", "-z", "15006", "-u", String(PROXY_UID), "-g", String(PROXY_UID)];
  const what = ["-m", "REDIRECT", "-i", "*", "-x", "", "-b", "*", "-d", OWN_PORTS, "--redirect-dns"];
  await mustRun("ip", [
    "netns",
    "exec",
    workload.netns ?? "",
    "env",
    `PILOT_AGENT_NODE=${node}`,
    launcher,
    ...words,
    ...what,
    "--log_output_level=error",
  ]);
}
