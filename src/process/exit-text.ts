/** How processes end, in the words that operators know from the reference. */
const SIGNALS: Readonly<Record<string, string>> = {
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

const SPAWN_FAILURES: Readonly<Record<string, string>> = {
  E2BIG: "argument list too long",
  EACCES: "permission denied",
  EISDIR: "is a directory",
  ENOENT: "no such file or directory",
  ENOEXEC: "exec format error",
  ENOTDIR: "not a directory",
};

/** "killed" for SIGKILL. */
export function signalText(signal: string): string {
  return SIGNALS[signal] ?? signal.replace(/^SIG/, "").toLowerCase();
}

/** `code` is the system's. A bare name was searched for in PATH. */
export function spawnFailureText(program: string, code: string): string {
  if (!program.includes("/") && code === "ENOENT") {
    return `exec: ${JSON.stringify(program)}: executable file not found in $PATH`;
  }
  return `fork/exec ${program}: ${SPAWN_FAILURES[code] ?? code}`;
}
