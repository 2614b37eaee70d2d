import { errorCode } from "./base/coded-error.ts";
import { createLog } from "./base/log/log.ts";
import { type LogTarget, openLogTarget } from "./base/log/log-targets.ts";
import { COMMANDS } from "./cli/commands.ts";
import { runCli } from "./cli/run-cli.ts";

/** The process edge: the only file that reads the command line and the environment, hears signals and sets the exit code. */
const FATAL_EXIT = 1;

const now = () => performance.timeOrigin + performance.now();
const log = createLog(now, () => process.exit(FATAL_EXIT));
const interrupted = new AbortController();
for (const name of ["SIGTERM", "SIGINT"] as const) {
  // One listener for the life of the process: without it a PID 1 would not hear these signals at all.
  process.on(name, () => interrupted.abort(name));
}

/** A reader that has seen enough (`| head`) ends the program quietly, as a broken pipe does elsewhere. */
const BROKEN_PIPE_EXIT = 141;
const writeTo = (target: LogTarget) => (text: string) => {
  try {
    target.write(text);
  } catch (thrown) {
    if (errorCode(thrown) !== "EPIPE") throw thrown;
    process.exit(BROKEN_PIPE_EXIT);
  }
};

const code = await runCli({
  words: process.argv.slice(2),
  commands: COMMANDS,
  env: process.env,
  log,
  signal: interrupted.signal,
  isTerminal: process.stderr.isTTY === true,
  now,
  mapCallSites: () => process.setSourceMapsEnabled(true),
  print: writeTo(openLogTarget("stdout")),
  printError: writeTo(openLogTarget("stderr")),
});
log.close();
process.exit(code);
