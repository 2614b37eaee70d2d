/** How one Envoy process ended. `clean` is exit code 0. */
export type ExitKind = "clean" | "crashed" | "killed" | "cannot-execute";

export interface EnvoyExit {
  readonly kind: ExitKind;
  /** As the reference words it: `exit status 1`, `signal: killed`, `fork/exec P: no such file or directory`; `<nil>` when clean. */
  readonly text: string;
}

const SIGNAL_TEXT: Readonly<Record<string, string>> = {
  SIGABRT: "aborted",
  SIGBUS: "bus error",
  SIGFPE: "floating point exception",
  SIGHUP: "hangup",
  SIGILL: "illegal instruction",
  SIGINT: "interrupt",
  SIGKILL: "killed",
  SIGPIPE: "broken pipe",
  SIGQUIT: "quit",
  SIGSEGV: "segmentation fault",
  SIGSYS: "bad system call",
  SIGTERM: "terminated",
  SIGTRAP: "trace/breakpoint trap",
  SIGUSR1: "user defined signal 1",
  SIGUSR2: "user defined signal 2",
};

const SPAWN_TEXT: Readonly<Record<string, string>> = {
  E2BIG: "argument list too long",
  EACCES: "permission denied",
  EISDIR: "is a directory",
  ENOENT: "no such file or directory",
  ENOEXEC: "exec format error",
  ENOTDIR: "not a directory",
};

/** From Node's `exit` event. */
export function exitOf(code: number | null, signal: string | null): EnvoyExit {
  if (signal !== null) {
    const text = `signal: ${SIGNAL_TEXT[signal] ?? signal.replace(/^SIG/, "").toLowerCase()}`;
    return { kind: signal === "SIGKILL" ? "killed" : "crashed", text };
  }
  if (code === 0) return { kind: "clean", text: "<nil>" };
  return { kind: "crashed", text: `exit status ${code}` };
}

/** A program that could not be started; a bare name was searched for in PATH. */
export function cannotExecute(program: string, errorCode: string): EnvoyExit {
  if (!program.includes("/") && errorCode === "ENOENT") {
    return { kind: "cannot-execute", text: `exec: ${JSON.stringify(program)}: executable file not found in $PATH` };
  }
  return { kind: "cannot-execute", text: `fork/exec ${program}: ${SPAWN_TEXT[errorCode] ?? errorCode}` };
}
