import { readFileSync } from "node:fs";
import { runProgramSync } from "./run-program.ts";

/** A process that cannot be mistaken for a later one with the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** As the system reports it; only compared. */
  readonly start: string;
}

export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const start = startOf(pid);
  return start === undefined ? undefined : { pid, start };
}

export function isAlive({ pid, start }: ProcessIdentity): boolean {
  return startOf(pid) === start;
}

/** Undefined when there is no such process; one that has ended and only waits for its parent counts as none. */
function startOf(pid: number): string | undefined {
  try {
    if (process.platform !== "linux") return startByPs(pid);
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The program's name stands in brackets and may contain anything.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function startByPs(pid: number): string | undefined {
  const text = runProgramSync("ps", ["-o", "lstart=", "-p", String(pid)]).trim();
  return text === "" ? undefined : text;
}
