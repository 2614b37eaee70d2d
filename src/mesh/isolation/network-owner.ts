import { readFileSync } from "node:fs";
import { mustRun } from "./run-tool.ts";

/** Whose an interface on the machine is, also when the state folder of that mesh is gone. */
export interface NetworkOwner {
  readonly name: string;
  readonly runId: string;
  /** Where its state was. */
  readonly folder: string;
}

/** Longest alias of an interface, for the kernel; of a longer path the end is missing. */
const MAX_BYTES = 255;

/** `ip link` shows it. */
export async function markInterface(interfaceName: string, { name, runId, folder }: NetworkOwner): Promise<void> {
  const text = `pilot-agent mesh ${name}, run ${runId}, state in ${folder}`;
  const alias = Buffer.from(text).subarray(0, MAX_BYTES).toString();
  await mustRun("ip", ["link", "set", "dev", interfaceName, "alias", alias]);
}

/** Undefined for an interface that is not there, or carries no mark. */
export function ownerOf(interfaceName: string): NetworkOwner | undefined {
  try {
    const alias = readFileSync(`/sys/class/net/${interfaceName}/ifalias`, "utf8").trimEnd();
    const [, name, runId, folder] = /^pilot-agent mesh (\S+), run ([0-9a-f]+), state in (.*)$/s.exec(alias) ?? [];
    return name === undefined || runId === undefined || folder === undefined ? undefined : { name, runId, folder };
  } catch {
    return undefined;
  }
}
