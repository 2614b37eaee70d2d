import { signalText, spawnFailureText } from "../../process/exit-text.ts";

/** How one Envoy process ended. `clean` is exit code 0. */
export type ExitKind = "clean" | "crashed" | "killed" | "cannot-execute";

export interface EnvoyExit {
  readonly kind: ExitKind;
  /** As the reference words it: `exit status 1`, `signal: killed`, `fork/exec P: no such file or directory`; `<nil>` when clean. */
  readonly text: string;
}

/** From Node's `exit` event. */
export function exitOf(code: number | null, signal: string | null): EnvoyExit {
  if (signal !== null) {
    const text = `signal: ${signalText(signal)}`;
    return { kind: signal === "SIGKILL" ? "killed" : "crashed", text };
  }
  if (code === 0) return { kind: "clean", text: "<nil>" };
  return { kind: "crashed", text: `exit status ${code}` };
}

/** A program that could not be started. */
export function cannotExecute(program: string, errorCode: string): EnvoyExit {
  return { kind: "cannot-execute", text: spawnFailureText(program, errorCode) };
}
