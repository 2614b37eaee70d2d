import { identifyProcess, isAlive } from "../../../src/process/process-identity.ts";

/** Says whether the process that has the number now still runs: numbers are given again, on some machines within minutes. */
export function lifeOf(pid: number | undefined): () => boolean {
  const identity = pid === undefined ? undefined : identifyProcess(pid);
  return () => identity !== undefined && isAlive(identity);
}
