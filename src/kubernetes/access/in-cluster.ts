import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { joinHostPort } from "../../net/host-port.ts";
import { KubernetesError } from "../kubernetes-error.ts";
import type { ClusterAccess } from "./cluster-access.ts";
import { kubeconfigPaths, readKubeconfig } from "./read-kubeconfig.ts";

const ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Whether this process is in a pod that was given an account. */
function isInCluster(env: Readonly<NodeJS.ProcessEnv>, folder: string = ACCOUNT_FOLDER): boolean {
  return Boolean(env.KUBERNETES_SERVICE_HOST) && existsSync(join(folder, "token"));
}

/** The API server of the cluster that this process runs in, as the service account of its pod. */
export async function readInCluster(
  env: Readonly<NodeJS.ProcessEnv>,
  folder: string = ACCOUNT_FOLDER,
): Promise<ClusterAccess> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port)
    throw new KubernetesError("invalid-config", "not in a cluster: KUBERNETES_SERVICE_HOST and _PORT are not set");
  const namespace = await readFile(join(folder, "namespace"), "utf8").catch(() => "");
  return {
    name: "in-cluster",
    server: new URL(`https://${joinHostPort(host, port)}`),
    ca: { file: join(folder, "ca.crt") },
    isInsecure: false,
    namespace: namespace.trim() || "default",
    user: { token: { file: join(folder, "token") } },
  };
}

export interface FindAccessOptions {
  /** A file by name; then nothing else is looked at. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** Where pods have their account; that of Kubernetes when absent. */
  readonly accountFolder?: string;
}

/** The named kubeconfig, else the pod's own cluster, else what KUBECONFIG and the home folder have. */
export function findClusterAccess(options: FindAccessOptions): Promise<ClusterAccess> {
  const { kubeconfig, context, env, accountFolder } = options;
  if (kubeconfig !== undefined && kubeconfig !== "") return readKubeconfig({ paths: [kubeconfig], context });
  if (context === undefined && isInCluster(env, accountFolder)) return readInCluster(env, accountFolder);
  return readKubeconfig({ paths: kubeconfigPaths(env), context });
}
