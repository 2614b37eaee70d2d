import { EventEmitter } from "node:events";
import { writeFileSync, writeSync } from "node:fs";
import type { LogTarget } from "./base/log/log-targets.ts";

/** The process edge: the only file that reads the command line and the environment, hears signals and sets the exit code. */
const FATAL_EXIT = 1;
const STDERR = 2;

void main();

/** No await at the top of the file: then it can also be built as one script, whose compiled code V8 keeps. */
async function main(): Promise<void> {
  // What ps and /proc show: the program, not its runtime.
  process.title = ["pilot-agent", ...process.argv.slice(2)].join(" ");
  nameProcess();
  // Node would open its debugger on loopback: every user of the machine could take the workload's key, and the process, through it.
  process.on("SIGUSR1", () => undefined);
  // Log lines that name source files need maps, which cost memory, and Node reads only those of code that is loaded afterwards.
  if (process.argv.some((word) => /^--log_(caller|stacktrace_level)\b/.test(word))) process.setSourceMapsEnabled(true);
  replaceStderr();
  const { COMMANDS, createLog, createWallClock, errorCode, openLogTarget, runCli } = await import("./cli/index.ts");
  // The command's own code is loaded next, which is a turn's worth of work by itself.
  await new Promise((nextTurn) => setImmediate(nextTurn));

  const now = createWallClock(uptimeMs, Date.now);
  const log = createLog(now, () => process.exit(FATAL_EXIT));

  /**
   * Signals keep their default action until a command asks for them; from then on one listener lives as long as the process, because a
   * PID 1 without one would not hear them at all.
   */
  let interrupted: AbortController | undefined;
  function hearInterrupts(): AbortSignal {
    if (interrupted === undefined) {
      const controller = new AbortController();
      for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, () => controller.abort(name));
      interrupted = controller;
    }
    return interrupted.signal;
  }

  /** A reader that has seen enough (`| head`) ends the program quietly, as a broken pipe does elsewhere. */
  const BROKEN_PIPE_EXIT = 141;
  const writeTo = (target: LogTarget) => (text: string, encoding?: BufferEncoding) => {
    try {
      target.write(text, encoding);
    } catch (thrown) {
      if (errorCode(thrown) !== "EPIPE") throw thrown;
      process.exit(BROKEN_PIPE_EXIT);
    }
  };
  const writeOut = writeTo(openLogTarget("stdout"));
  const writeError = writeTo(openLogTarget("stderr"));

  const code = await runCli({
    words: process.argv.slice(2),
    commands: COMMANDS,
    env: process.env,
    commandLine: [process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    log,
    get signal() {
      return hearInterrupts();
    },
    onSignal: (listener) => {
      for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, () => listener(name));
    },
    uptimeMs,
    // Its module loads those of sockets and streams: not for commands that do not ask.
    get isTerminal() {
      return process.getBuiltinModule("node:tty").isatty(STDERR);
    },
    now,
    print: writeOut,
    printError: (text) => {
      try {
        writeError(text);
      } catch {
        // A full disk below stderr: the exit code still says it.
      }
    },
  });
  log.close();
  process.exit(code);
}

/** Not by `performance`, whose module takes a millisecond to load. */
function uptimeMs(): number {
  return process.uptime() * 1000;
}

/** The title is cut after 15 characters where the kernel has the process's name, by which `pgrep -x` and `ps -C` find it. */
function nameProcess(): void {
  try {
    writeFileSync("/proc/self/comm", "pilot-agent");
  } catch {
    // No such file outside Linux.
  }
}

/**
 * Node makes the stream behind `process.stderr` when somebody first looks at it, and node:http2 is somebody: it loads node:assert, which
 * asks for colours. That would set a pipe, which Envoy shares, to non-blocking, and Envoy loses lines on a full one.
 */
function replaceStderr(): void {
  const write = (text: string) => {
    try {
      return writeSync(STDERR, text) >= 0;
    } catch {
      // What comes here are warnings of Node and of libraries: none is worth the agent's end.
      return false;
    }
  };
  // An emitter, as every stream: Node's own console looks for listeners before it prints a warning.
  const stderr = Object.assign(new EventEmitter(), { fd: STDERR, isTTY: false, writable: true, write });
  Object.defineProperty(process, "stderr", { configurable: true, value: stderr });
}
