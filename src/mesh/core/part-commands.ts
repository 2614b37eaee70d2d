import { DEFAULT_TEXT_FORMAT } from "../../envoy-config/index.ts";
import { CLUSTER_ID, CONTROL_PLANE_NAME } from "./agent-environment.ts";
import type { MeshPlan } from "./mesh-plan.ts";

export interface RunAs {
  readonly uid: number;
  readonly gid: number;
  /** Keeps the user's further groups; a service user has none. */
  readonly hasGroups: boolean;
}

export interface Wrapping {
  readonly netns?: string | undefined;
  /** With files that the namespace has in place of those in /etc; `ip netns exec` itself looks for root's. */
  readonly resolver?: string | undefined;
  readonly user?: RunAs | undefined;
  /** Whether the machine has setpriv, with the signal that the kernel sends when the parent is gone. */
  readonly hasSetpriv: boolean;
}

/** The command inside its namespace and as its user; each step becomes the next, so the process number stays the same. */
export function wrapCommand(command: readonly string[], wrapping: Wrapping): readonly string[] {
  const { netns, resolver, user, hasSetpriv } = wrapping;
  const own = resolver === undefined ? [] : ["sh", "-c", BIND_FILES, resolver];
  const inside = netns === undefined ? [] : ["ip", "netns", "exec", netns, ...own];
  if (!hasSetpriv) return [...inside, ...command];
  const as =
    user === undefined
      ? []
      : [`--reuid=${user.uid}`, `--regid=${user.gid}`, user.hasGroups ? "--init-groups" : "--clear-groups"];
  return [...inside, "setpriv", ...as, "--pdeathsig", "TERM", "--", ...command];
}

/** `ip netns exec` has made a mount namespace for the command. */
const BIND_FILES = 'for each in resolv.conf hosts; do mount --bind "$0/$each" "/etc/$each" || exit 1; done; exec "$@"';

export interface ControlPlaneFiles {
  readonly config: string;
  readonly meshConfig: string;
  readonly ca: string;
}

/** Words and environment of `pilot-agent discovery`. */
export function controlPlaneCommand(
  plan: MeshPlan,
  files: ControlPlaneFiles,
): { readonly words: readonly string[]; readonly env: Readonly<Record<string, string>> } {
  const { host, ports } = plan.controlPlane;
  return {
    words: [
      "discovery",
      `--configDir=${files.config}`,
      `--meshConfig=${files.meshConfig}`,
      "--registries=",
      // Plain text only for this machine, and inside the hub only for the hub.
      `--grpcAddr=127.0.0.1:${ports.plaintext}`,
      `--secureGRPCAddr=${host}:${ports.secure}`,
      `--monitoringAddr=${host}:${ports.monitoring}`,
      // In the hub also on its loopback address, which alone may see the debug pages.
      `--httpAddr=${plan.controlPlane.netns === undefined ? host : "0.0.0.0"}:${ports.http}`,
      "--httpsAddr=",
    ],
    env: {
      ROOT_CA_DIR: files.ca,
      CLUSTER_ID,
      POD_NAME: "istiod-mesh",
      POD_NAMESPACE: "istio-system",
      ISTIOD_CUSTOM_HOST: `${CONTROL_PLANE_NAME},localhost`,
    },
  };
}

/**
 * Mesh wide settings: access logs go to the sidecars' log files, with whom the caller's certificate names behind the usual line. Its address
 * says less: that of a gateway's client is passed on, and without namespaces all have one.
 */
export function meshConfigText({ egress }: Pick<MeshPlan, "egress">): string {
  const policy = egress === "registry-only" ? "outboundTrafficPolicy: {mode: REGISTRY_ONLY}\n" : "";
  const line = JSON.stringify(`${DEFAULT_TEXT_FORMAT.trimEnd()} "%DOWNSTREAM_PEER_URI_SAN%"\n`);
  return `accessLogFile: /dev/stdout\naccessLogFormat: ${line}\ndefaultProviders: {metrics: [prometheus]}\n${policy}`;
}
