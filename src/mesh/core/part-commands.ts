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
  readonly user?: RunAs | undefined;
  /** Whether the machine has setpriv, with the signal that the kernel sends when the parent is gone. */
  readonly hasSetpriv: boolean;
}

/** The command inside its namespace and as its user; each step becomes the next, so the process number stays the same. */
export function wrapCommand(command: readonly string[], { netns, user, hasSetpriv }: Wrapping): readonly string[] {
  const inside = netns === undefined ? [] : ["ip", "netns", "exec", netns];
  if (!hasSetpriv) return [...inside, ...command];
  const as =
    user === undefined
      ? []
      : [`--reuid=${user.uid}`, `--regid=${user.gid}`, user.hasGroups ? "--init-groups" : "--clear-groups"];
  return [...inside, "setpriv", ...as, "--pdeathsig", "TERM", "--", ...command];
}

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
      `--httpAddr=${host}:${ports.http}`,
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

/** Mesh wide settings: access logs go to the sidecars' log files. */
export function meshConfigText(): string {
  return "accessLogFile: /dev/stdout\n";
}
