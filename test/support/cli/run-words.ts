import { createLog } from "../../../src/base/log/log.ts";
import { type CliOptions, runCli } from "../../../src/cli/framework/run-cli.ts";

/** A command line in this process, with what it prints; log lines go nowhere. */
export async function runWords(given: Pick<CliOptions, "words" | "commands" | "env">) {
  let [stdout, stderr] = ["", ""];
  const log = createLog(() => 0);
  const code = await runCli({
    ...given,
    commandLine: given.words,
    log: { ...log, logger: log.logger.scope("quiet"), configure: () => log.setLevel("quiet", "none") },
    signal: new AbortController().signal,
    onSignal: () => undefined,
    uptimeMs: () => 0,
    isTerminal: false,
    now: () => 0,
    print: (text) => {
      stdout += text;
    },
    printError: (text) => {
      stderr += text;
    },
  });
  return { code, stdout, stderr };
}
