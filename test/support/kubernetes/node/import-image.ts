import { runProgram } from "../../../../src/process/run-program.ts";

/** Takes an archive as `npm run image` and `docker save` write it into the node's containerd. */
export async function importImage(socket: string, archive: string): Promise<void> {
  const { code, output, error } = await runCtr(socket, ["images", "import", archive]);
  if (code !== 0) throw new Error(`ctr images import ${archive}: ${error?.message ?? output.trim()}`);
}

/** Where the kubelet's containers and images are. */
export function runCtr(socket: string, args: readonly string[]) {
  return runProgram("ctr", ["--address", socket, "--namespace", "k8s.io", ...args]);
}
