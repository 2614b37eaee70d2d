import { spawn } from "node:child_process";
import { once } from "node:events";
import { execute } from "../mesh/run.ts";

/** A network, packet filter, /etc and /run of their own, as after a restart of this machine; files elsewhere are the machine's. */
export interface OwnMachine extends AsyncDisposable {
  /** Words in front of a command that is to run there, in the folder. */
  readonly wrapper: readonly string[];
  /** Standard output of lines for the shell. */
  shell(lines: string): Promise<string>;
}

const PREPARE = `set -e
etc=$(mktemp -d)
mount -t tmpfs -o mode=755 tmpfs "$etc"
cp -a /etc/. "$etc"
rm -rf "$etc/netns"
mount --move "$etc" /etc
rmdir "$etc"
mount -t tmpfs -o mode=755 tmpfs /run
mount -t sysfs sysfs /sys
ip link set lo up
echo 0 > /proc/sys/net/ipv4/ip_forward
echo prepared
exec sleep infinity`;

export async function ownMachine(folder: string): Promise<OwnMachine> {
  const holder = spawn("unshare", ["--net", "--mount", "sh", "-c", PREPARE], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(holder, "exit");
  const prepared = once(holder.stdout, "data");
  await Promise.race([prepared, ended.then(() => Promise.reject(new Error("there is no machine of its own")))]);
  const wrapper = ["nsenter", "--target", String(holder.pid), "--net", "--mount", "env", "-C", folder];
  return {
    wrapper,
    shell: async (lines) => (await execute([...wrapper, "sh", "-c", lines], "/")).stdout,
    async [Symbol.asyncDispose]() {
      holder.kill("SIGKILL");
      await ended;
    },
  };
}
