import type { MeshFile } from "./mesh-file.ts";
import type { MeshPlan } from "./mesh-plan.ts";

export interface AskedFor {
  /** For messages, and for the command that is to be typed. */
  readonly fileName: string;
  readonly isolation?: string;
}

/**
 * Why a file cannot become the running mesh's; undefined when it can. Addresses, names and identities of every workload follow from the
 * namespace and the isolation: nothing would be left of the mesh that runs, so it is restarted.
 */
export function fixedObstacle(
  { name, namespace, isolation, proxyless, egress }: MeshPlan,
  file: Pick<MeshFile, "namespace" | "egress">,
  asked: AskedFor,
): string | undefined {
  const { fileName } = asked;
  const restart = (options = "") =>
    `do pilot-agent mesh down --name ${name}, then pilot-agent mesh up -f ${fileName}${options}`;
  if (proxyless) {
    const text = "the mesh runs without Envoy, and so does not change while it runs";
    return `${text}; where Envoy can be had (pilot-agent envoy path), ${restart()}`;
  }
  if (asked.isolation !== undefined && asked.isolation !== isolation) {
    return `isolation ${asked.isolation} is asked for, the mesh runs with ${isolation}; ${restart(` --isolation ${asked.isolation}`)}`;
  }
  if (file.egress !== egress) {
    return `${fileName}: egress is ${file.egress}, the mesh runs with ${egress}; ${restart()}`;
  }
  if (file.namespace === namespace) return undefined;
  return `${fileName}: namespace is ${file.namespace}, the mesh runs in ${namespace}; ${restart()}`;
}
