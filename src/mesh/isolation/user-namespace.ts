import { readFileSync } from "node:fs";
import { runProgram } from "../../process/run-program.ts";
import { type ChildProcess, spawnProgram } from "../../process/spawn-program.ts";
import { serveMachine } from "./machine.ts";

const OWN_NAMESPACES = ["--user", "--map-root-user", "--net", "--mount"];

/** Settings of kernels that refuse user namespaces, with the value that allows them. */
const SETTINGS = [
  { name: "kernel.unprivileged_userns_clone", refuses: "0", allows: "1" },
  { name: "kernel.apparmor_restrict_unprivileged_userns", refuses: "1", allows: "0" },
  { name: "user.max_user_namespaces", refuses: "0", allows: "15000" },
  { name: "user.max_net_namespaces", refuses: "0", allows: "15000" },
] as const;

/** Why an ordinary user cannot have namespaces here, and what would change that; undefined when one can. */
export async function userNamespaceObstacle(): Promise<string | undefined> {
  const { code, stderr, error } = await runProgram("unshare", [...OWN_NAMESPACES, "true"]);
  if (code === 0) return undefined;
  if (error !== undefined) return "unshare is missing (install util-linux)";
  return refusal(stderr.trim().split("\n")[0] ?? "", readSetting);
}

/** What a user can ask the owner of the machine for, by what `unshare` said and how the kernel is set. */
export function refusal(said: string, read: (name: string) => string | undefined): string {
  const setting = SETTINGS.find(({ name, refuses }) => read(name) === refuses);
  if (setting === undefined) return `network namespaces need root, as this kernel gives users none: ${said}`;
  return `network namespaces need root, or sysctl ${setting.name}=${setting.allows}`;
}

function readSetting(name: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/${name.replaceAll(".", "/")}`, "utf8").trim();
  } catch {
    return undefined;
  }
}

/** `ip netns` keeps names in /run, which belongs to root: there is one of this namespace's own over it, with all that it has beside. */
const OWN_RUN = `old=$(mktemp -d) && mount --rbind /run "$old" && mount -t tmpfs -o mode=755 tmpfs /run || exit 1
for each in "$old"/*; do
  name=/run/\${each##*/}
  case $name in /run/netns) continue ;; esac
  if [ -L "$each" ]; then cp -P "$each" "$name"
  elif [ -d "$each" ]; then mkdir "$name" && mount --rbind "$each" "$name"
  elif [ -e "$each" ]; then : > "$name" && mount --bind "$each" "$name"
  fi
done 2> /dev/null
ip link set lo up
mkdir /run/netns && umount -l "$old" && rmdir "$old"
exec "$@"`;

/** Runs the words as root of namespaces of their own, which are gone with the last process in them. */
export function spawnInUserNamespace(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  /** Further descriptors of this process, from 4 on. */
  passedOn: readonly number[] = [],
): ChildProcess {
  const child = spawnProgram("unshare", [...OWN_NAMESPACES, "--", "sh", "-c", OWN_RUN, "sh", ...words], {
    env: { ...env },
    stdio: ["inherit", "inherit", "inherit", "ipc", ...passedOn],
  });
  serveMachine(child);
  return child;
}
