import type { NetworkPlan, Workload } from "../core/mesh-plan.ts";

/**
 * Without root there is one user in the namespaces, so a rule cannot tell Envoy's packets by their user, as in a pod. Envoy marks its
 * connections instead, and the agent is recognized by whom it calls: the control plane, and a name server of its own.
 */
export const ENVOY_MARK = 1337;

const SOL_SOCKET = 1;
const SO_MARK = 36;

/** A part of Envoy's bootstrap: makes its connections known where it has no user of its own. */
export function markingBootstrap(): object {
  const mark = { level: SOL_SOCKET, name: SO_MARK, int_value: ENVOY_MARK, state: "STATE_PREBIND" };
  const config = { source_address: { address: "0.0.0.0", port_value: 0 }, socket_options: [mark] };
  return { cluster_manager: { upstream_bind_config: config } };
}

/** Inbound ports that are asked from outside and not captured. */
const OWN_PORTS = [15_008, 15_020, 15_021, 15_090];

/** For iptables-restore. */
export function captureRules({ ports }: Pick<Workload, "ports">, network: NetworkPlan): string {
  const { hubAddress, hostAddress, appResolver } = network;
  return [
    "*nat",
    ...OWN_PORTS.map((port) => `-A PREROUTING -p tcp --dport ${port} -j RETURN`),
    "-A PREROUTING -p tcp -j REDIRECT --to-ports 15006",
    ...["udp", "tcp"].map(
      (kind) => `-A OUTPUT -p ${kind} -d ${appResolver} --dport 53 -j REDIRECT --to-ports ${ports.dns}`,
    ),
    `-A OUTPUT -p tcp -m mark --mark ${ENVOY_MARK} -j RETURN`,
    "-A OUTPUT -p tcp -o lo -j RETURN",
    `-A OUTPUT -p tcp -d ${hubAddress} -j RETURN`,
    `-A OUTPUT -p tcp -d ${hostAddress} --dport 53 -j RETURN`,
    "-A OUTPUT -p tcp -j REDIRECT --to-ports 15001",
    "COMMIT",
    "",
  ].join("\n");
}
