import { runProgram } from "../../process/run-program.ts";
import type { Isolation } from "../core/mesh-plan.ts";
import { MeshError } from "../mesh-error.ts";

export interface ChosenIsolation {
  readonly isolation: Isolation;
  /** In a user's words, for the start's output. */
  readonly why: string;
}

/** What namespaces need of the machine, with a call that shows whether it works and changes nothing. */
const NEEDS = [
  { program: "ip", args: ["netns", "list"], package: "iproute2" },
  { program: "setpriv", args: ["--version"], package: "util-linux" },
  {
    program: "unshare",
    args: ["--net", "ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1"],
    package: "util-linux",
  },
  { program: "iptables-save", args: ["--version"], package: "iptables" },
] as const;

const WITHOUT_ROOT =
  "running without root; --isolation namespaces captures traffic, where the kernel gives users namespaces";

/** Namespaces where the machine allows them, unless the flag says otherwise. */
export async function chooseIsolation(wanted: "auto" | Isolation, isRoot: boolean): Promise<ChosenIsolation> {
  if (wanted === "none") return { isolation: "none", why: "asked for" };
  if (wanted === "auto" && !isRoot) return { isolation: "none", why: WITHOUT_ROOT };
  const obstacle = isRoot ? await namespaceObstacle() : "network namespaces need root";
  if (obstacle === undefined)
    return { isolation: "namespaces", why: wanted === "auto" ? "running as root" : "asked for" };
  if (wanted === "auto") return { isolation: "none", why: obstacle };
  throw new MeshError("isolation", `--isolation namespaces is not possible here: ${obstacle}`);
}

async function namespaceObstacle(): Promise<string | undefined> {
  for (const { program, args, package: name } of NEEDS) {
    const result = await runProgram(program, args);
    if (result.error !== undefined) return `${program} is missing (install ${name})`;
    if (result.code !== 0) return `${program} does not work here: ${result.stderr.trim().split("\n")[0]}`;
  }
  return undefined;
}
